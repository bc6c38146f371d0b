// random-model SHAPE TYPE FILE: writes a GGUF file with random weights, for tests and measurements.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "random_model/random_model.h"
#include "tensor/dequantize.h"

int main(int argc, char** argv) {
    using namespace minfer;
    std::vector<std::string> names;
    for (const auto& shape : random_model_shapes()) names.emplace_back(shape.name);

    std::string shape_name, type_name, path;
    CLI::App app("Writes a GGUF file with random weights of the given shape and type.");
    app.add_option("shape", shape_name, "one of the known shapes")
        ->required()
        ->check(CLI::IsMember(names));
    app.add_option("type", type_name, "f32, f16, bf16, q8_0, q4_K, ...")->required();
    app.add_option("file", path, "the file to write")->required();
    CLI11_PARSE(app, argc, argv);

    const auto type = dtype_from_name(type_name);
    if (!type || !can_dequantize(*type)) {
        std::fprintf(stderr, "error: '%s' is not a type that can be run\n", type_name.c_str());
        return 2;
    }
    for (const auto& shape : random_model_shapes()) {
        if (shape.name != shape_name) continue;
        gguf::Writer writer;
        auto done = add_random_model(writer, shape, *type);
        if (done) done = writer.write(path);
        if (!done) {
            std::fprintf(stderr, "error: %s\n", done.error().what.c_str());
            return 1;
        }
    }
    return 0;
}
