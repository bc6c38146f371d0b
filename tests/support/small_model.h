#pragma once
// A model of two blocks, 64 wide, for tests that take very many steps.

#include "support/tiny_model.h"

namespace minfer {

inline std::vector<std::byte> small_model_bytes() {
    return random_model_bytes({.name = "small-qwen3",
                               .architecture = "qwen3",
                               .n_layer = 2,
                               .n_embd = 64,
                               .n_ff = 128,
                               .n_head = 2,
                               .n_head_kv = 1,
                               .head_dim = 64,
                               .n_vocab = 384,
                               .n_ctx = 512,
                               .tied = true},
                              DType::F32);
}

}  // namespace minfer
