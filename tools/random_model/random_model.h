#pragma once
// GGUF files with random weights: tiny ones for tests, and ones in the published shapes of real
// models for measurements of speed and memory. Any type we run; the same file every time.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/writer.h"
#include "tensor/dtype.h"

namespace minfer {

struct RandomModelShape {
    std::string_view name;          // "tiny-qwen3", "qwen2.5-0.5b", ...
    std::string_view architecture;  // "qwen2" or "qwen3"
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head_dim, n_vocab, n_ctx;
    bool tied;  // no output.weight
    float rope_base = 1e6f;
    float rms_eps = 1e-6f;
};

const std::vector<RandomModelShape>& random_model_shapes();

// Adds metadata, a byte-level vocabulary and all tensors: matrices of `type` (rows that are no
// multiple of its block: Q8_0, then F16), vectors of f32. The bytes are made when the writer
// writes.
Result<> add_random_model(gguf::Writer& writer, const RandomModelShape& shape, DType type);

}  // namespace minfer
