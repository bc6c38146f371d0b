// random-model SHAPE TYPE FILE: writes a GGUF file with random weights, for tests and measurements.

#include <algorithm>
#include <cstdio>
#include <string>

#include "random_model/random_model.h"
#include "tensor/dequantize.h"

namespace minfer {
namespace {

int usage(const std::string& problem) {
    std::string names;
    for (const auto& shape : random_model_shapes()) names += fmt::format(" {}", shape.name);
    std::fprintf(stderr,
                 "error: %s\nusage: random-model SHAPE TYPE FILE\n"
                 "SHAPE is one of%s; TYPE is f32, f16, bf16, q8_0, q4_K, ...\n",
                 problem.c_str(), names.c_str());
    return 2;
}

int write_model(const std::string& shape_name, const std::string& type_name, const char* path) {
    const auto& shapes = random_model_shapes();
    const auto shape = std::ranges::find(shapes, shape_name, &RandomModelShape::name);
    if (shape == shapes.end()) return usage("'" + shape_name + "' is not a known shape");
    const auto type = dtype_from_name(type_name);
    if (!type || !can_dequantize(*type) || *type == DType::Q8_K)
        return usage("'" + type_name + "' is not a type that can be run");
    gguf::Writer writer;
    auto done = add_random_model(writer, *shape, *type);
    if (done) done = writer.write(path);
    if (done) return 0;
    std::fprintf(stderr, "error: %s\n", done.error().what.c_str());
    return 1;
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    if (argc != 4) return minfer::usage("three arguments are needed");
    return minfer::write_model(argv[1], argv[2], argv[3]);
}
