#pragma once
// What a file's header says about its model, for any architecture and without insisting on
// anything: facts that are missing or odd are left out.

#include <optional>
#include <string>
#include <vector>

#include "gguf/reader.h"

namespace minfer {

struct TypeShare {
    DType dtype;
    size_t tensors = 0;
    uint64_t bytes = 0;
};

struct ModelFacts {
    std::string architecture;  // empty: the file does not say
    std::string model_name;
    uint64_t n_parameters = 0, tensor_bytes = 0, file_bytes = 0;
    std::vector<TypeShare> types;  // most bytes first
    std::optional<uint64_t> n_layer, n_head, n_head_kv, head_dim, n_embd, n_ff, n_vocab,
        n_ctx_train;
    std::optional<double> rope_base, rope_factor;
    std::string rope_scaling;  // empty: not given

    // As llama-bench names models: "qwen3 13.9M Q8_0".
    std::string label() const;
};

ModelFacts read_facts(const gguf::File& file);

}  // namespace minfer
