#pragma once
// Tiny random models held in memory.

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "random_model/random_model.h"

namespace minfer {

// The bytes of a model file of this shape and weight type.
inline std::vector<std::byte> random_model_bytes(const RandomModelShape& shape, DType type) {
    gguf::Writer writer;
    const auto added = add_random_model(writer, shape, type);
    MINFER_ASSERT(added);
    auto bytes = writer.bytes();
    MINFER_ASSERT(bytes);
    return *std::move(bytes);
}

// The same for a shape by its name ("tiny-qwen2", "tiny-qwen3").
inline std::vector<std::byte> tiny_model_bytes(std::string_view shape_name, DType type) {
    for (const auto& shape : random_model_shapes())
        if (shape.name == shape_name) return random_model_bytes(shape, type);
    MINFER_ASSERT(!"unknown shape");
    return {};
}

// A model and the bytes it borrows.
struct TinyModel {
    std::vector<std::byte> bytes;
    Model model;

    explicit TinyModel(std::vector<std::byte> file, std::string prefix = {})
        : bytes(std::move(file)), model(parsed(bytes, std::move(prefix))) {}
    TinyModel(std::string_view shape, DType type, std::string prefix = {})
        : TinyModel(tiny_model_bytes(shape, type), std::move(prefix)) {}

  private:
    static Model parsed(std::span<const std::byte> bytes, std::string prefix) {
        auto file = gguf::File::parse(bytes);
        MINFER_ASSERT(file);
        auto model = Model::from(*std::move(file), std::move(prefix));
        MINFER_ASSERT(model);
        return *std::move(model);
    }
};

}  // namespace minfer
