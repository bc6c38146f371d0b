#pragma once
// An engine over a tiny random model held in memory: the quickest way from a test to logits.

#include <memory>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "random_model/random_model.h"
#include "runtime/engine.h"

namespace minfer {

// The bytes of the tiny model file of this shape ("tiny-qwen2", "tiny-qwen3") and weight type.
inline std::vector<std::byte> tiny_model_bytes(std::string_view shape_name, DType type) {
    for (const auto& shape : random_model_shapes()) {
        if (shape.name != shape_name) continue;
        gguf::Writer writer;
        const auto added = add_random_model(writer, shape, type);
        MINFER_ASSERT(added);
        auto bytes = writer.bytes();
        MINFER_ASSERT(bytes);
        return *std::move(bytes);
    }
    MINFER_ASSERT(!"unknown shape");
    return {};
}

class TinyEngine {
  public:
    TinyEngine(std::string_view shape, DType type, EngineOptions options,
               CpuActivations activations = CpuActivations::Quantized, int threads = 1)
        : bytes_(tiny_model_bytes(shape, type)) {
        auto file = gguf::File::parse(bytes_);
        MINFER_ASSERT(file);
        auto model = Model::from(*std::move(file));
        MINFER_ASSERT(model);
        model_ = std::make_unique<Model>(*std::move(model));
        backend_ = make_cpu_backend({.threads = threads, .activations = activations});
        auto engine = Engine::create(*model_, {backend_.get()}, options);
        MINFER_ASSERT(engine);
        engine_ = *std::move(engine);
    }

    Engine& engine() const { return *engine_; }
    const Model& model() const { return *model_; }

  private:
    std::vector<std::byte> bytes_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<CpuBackend> backend_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace minfer
