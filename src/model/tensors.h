#pragma once
// Which tensors a model of given shape must have, and the check of a file against that list.

#include <string>
#include <vector>

#include "gguf/reader.h"
#include "model/hparams.h"

namespace minfer {

struct TensorSpec {
    std::string name;
    std::array<uint64_t, 4> shape{1, 1, 1, 1};  // file order, the row first
    bool optional = false;

    bool is_vector() const { return shape[1] == 1; }  // norms and biases: one row
};

// In file order of llama.cpp's converters. `output.weight` is optional: without it the head reuses
// the embedding.
std::vector<TensorSpec> tensor_specs(const HParams& hp);

// BadInput naming every tensor that is missing, misshapen, or not in the list; Unsupported for a
// vector that is not f32, f16 or bf16.
Result<> check_tensors(const gguf::File& file, const std::vector<TensorSpec>& specs);

}  // namespace minfer
