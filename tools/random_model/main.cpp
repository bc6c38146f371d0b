// random-model SHAPE TYPE FILE: writes a GGUF file with random weights, for tests and measurements.

#include <algorithm>
#include <cstdio>
#include <string>

#include "random_model/random_model.h"
#include "tensor/dequantize.h"

namespace minfer {
namespace {

bool can_be_model(DType type) { return can_dequantize(type) && type != DType::Q8_K; }

std::string usage() {
    std::string shapes, types;
    for (const auto& shape : random_model_shapes()) shapes += fmt::format(" {}", shape.name);
    for (uint32_t number = 0; number < 64; ++number)
        if (const auto type = dtype_from_file(number); type && can_be_model(*type))
            types += fmt::format(" {}", name(*type));
    return fmt::format("usage: random-model SHAPE TYPE FILE\nSHAPE is one of{}\nTYPE is one of{}\n",
                       shapes, types);
}

int usage_error(const std::string& problem) {
    std::fprintf(stderr, "error: %s\n%s", problem.c_str(), usage().c_str());
    return 2;
}

int write_model(const std::string& shape_name, const std::string& type_name, const char* path) {
    const auto& shapes = random_model_shapes();
    const auto shape = std::ranges::find(shapes, shape_name, &RandomModelShape::name);
    if (shape == shapes.end()) return usage_error("'" + shape_name + "' is not a known shape");
    const auto type = dtype_from_name(type_name);
    if (!type || !can_be_model(*type))
        return usage_error("'" + type_name + "' is not a type that can be run");
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
    const auto first = std::string(argc > 1 ? argv[1] : "");
    if (first == "-h" || first == "--help") {
        std::fputs(minfer::usage().c_str(), stdout);
        return 0;
    }
    if (argc != 4) return minfer::usage_error("three arguments are needed");
    return minfer::write_model(argv[1], argv[2], argv[3]);
}
