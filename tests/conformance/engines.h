#pragma once
// Engines over one model file, on Metal and on the CPU's exact mode, and how their answers compare.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "random_model/random_model.h"
#include "runtime/engine.h"

namespace minfer::test {

inline const std::filesystem::path kStoryModel = MINFER_STORY_MODEL;

// An engine and the backends it runs on.
struct Running {
    std::vector<std::unique_ptr<Backend>> backends;
    std::unique_ptr<Engine> engine;

    // Logits of the last `n_out` tokens; an error fails the test.
    std::vector<float> evaluate(std::span<const TokenId> tokens, size_t n_out = 1);
    // How many nodes of the graph last run are on this backend.
    size_t nodes_on(BackendId backend) const;
};

Running on_metal(const Model& model, const MetalOptions& metal = {}, EngineOptions options = {});
Running on_cpu(const Model& model, CpuActivations activations = CpuActivations::F32,
               EngineOptions options = {});

Model load_model(const std::filesystem::path& path);

// Why `model` does not run here, whole on Metal and on the CPU, in one line; nothing when it does.
// For files that are not ours: the functions above take what they are given to be sound.
std::optional<std::string> why_not(const Model& model);

// A file of the model with random weights of this shape ("tiny-qwen2") and type.
void write_random_model(std::string_view shape, DType type, const std::filesystem::path& to);
void write_random_model(const RandomModelShape& shape, DType type, const std::filesystem::path& to);

std::vector<TokenId> encode(const Model& model, std::string_view text);
// Some ids, the same every time.
std::vector<TokenId> random_ids(const Model& model, size_t count);

TokenId best(std::span<const float> logits);
float lead(std::span<const float> logits);  // of the best over the second

}  // namespace minfer::test
