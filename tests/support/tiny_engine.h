#pragma once
// An engine over a tiny random model held in memory: the quickest way from a test to logits.

#include <memory>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "runtime/engine.h"
#include "support/tiny_model.h"

namespace minfer {

class TinyEngine {
  public:
    TinyEngine(std::string_view shape, DType type, EngineOptions options,
               CpuActivations activations = CpuActivations::Quantized, int threads = 1)
        : tiny_(shape, type) {
        backend_ = make_cpu_backend({.threads = threads, .activations = activations});
        auto engine = Engine::create(tiny_.model, {backend_.get()}, options);
        MINFER_ASSERT(engine);
        engine_ = *std::move(engine);
    }

    Engine& engine() const { return *engine_; }
    const Model& model() const { return tiny_.model; }

  private:
    TinyModel tiny_;
    std::unique_ptr<CpuBackend> backend_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace minfer
