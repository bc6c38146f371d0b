#pragma once
// A model file opened, checked against its architecture, and able to describe any forward pass as a
// graph. Holds no device state: engines register the weights with their backends.

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "graph/backend.h"
#include "graph/params.h"
#include "model/hparams.h"

namespace minfer {

class Model {
  public:
    // Errors begin with the path.
    static Result<Model> load(const std::filesystem::path& path);
    // Of a file already open, e.g. one parsed from memory.
    static Result<Model> from(gguf::File file);

    const HParams& hparams() const { return hparams_; }
    const gguf::File& file() const { return file_; }

    // Every tensor the graphs refer to. Matrices are views of the mapping; vectors stored as f16 or
    // bf16 were widened to f32.
    std::span<const Weight> weights() const { return weights_; }
    bool has_weight(std::string_view name) const { return find(name) != nullptr; }
    DType weight_dtype(std::string_view name) const;  // asserts that it exists
    size_t n_parameters() const;

    // The forward pass: inputs token_ids, positions, cells, attn_span or kv_map, and tail_ids when
    // fewer rows than tokens are wanted; one output, logits [n_vocab, n_out].
    Result<Graph> build(const GraphParams& params) const;

  private:
    Model(gguf::File file, HParams hparams) : file_(std::move(file)), hparams_(hparams) {}
    const Weight* find(std::string_view name) const;

    gguf::File file_;
    HParams hparams_;
    std::vector<Weight> weights_;                 // sorted by name
    std::vector<std::unique_ptr<float[]>> wide_;  // the widened vectors
};

}  // namespace minfer
