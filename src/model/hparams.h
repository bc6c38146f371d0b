#pragma once
// What the metadata says about a model's shape, checked once so that everything after can trust it.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "gguf/reader.h"

namespace minfer {

enum class Architecture : uint8_t { Qwen2, Qwen3 };

std::string_view name(Architecture architecture);  // as in general.architecture

struct HParams {
    Architecture architecture = Architecture::Qwen3;
    size_t n_layer = 0;
    size_t n_embd = 0;     // width of the residual stream
    size_t n_ff = 0;       // inner width of the feed-forward block
    size_t n_head = 0;     // query heads
    size_t n_head_kv = 0;  // key and value heads; divides n_head
    size_t head_dim = 0;   // of queries, keys and values; in qwen3 independent of n_embd / n_head
    size_t n_vocab = 0;    // rows of token_embd
    size_t n_ctx_train = 0;
    float rms_eps = 0;
    float rope_freq_base = 10000;
    float rope_freq_scale = 1;  // 1 / factor under linear scaling

    size_t q_width() const { return n_head * head_dim; }
    size_t kv_width() const { return n_head_kv * head_dim; }
};

// From the metadata, and the vocabulary's size from token_embd. Errors name the key, what was found
// and what is allowed; a RoPE scaling that is not implemented is Unsupported.
Result<HParams> read_hparams(const gguf::File& file);

}  // namespace minfer
