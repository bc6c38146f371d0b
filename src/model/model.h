#pragma once
// A model file opened, checked against its architecture, and able to describe any forward pass as a
// graph. Holds no device state: engines register the weights with their backends.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/fingerprint.h"
#include "gguf/reader.h"
#include "graph/backend.h"
#include "graph/params.h"
#include "model/hparams.h"
#include "model/joined_weights.h"

namespace minfer {

class Model {
  public:
    // `prefix` goes before the name of every weight, so that two models can share a backend.
    // Errors begin with the path.
    static Result<Model> load(const std::filesystem::path& path, std::string prefix = {});
    // Of a file already open, e.g. one parsed from memory.
    static Result<Model> from(gguf::File file, std::string prefix = {});

    // Joins the weights of the fused decode ops, in memory of its own, for engines that ask for
    // such weights: weights() has them as well from then on. Before any engine is made; a second
    // call adds nothing. OutOfMemory naming the bytes.
    Result<> join_weights(bool qkv, bool ffn);

    const HParams& hparams() const { return hparams_; }
    const gguf::File& file() const { return file_; }

    // Every tensor the graphs refer to. Matrices are views of the mapping; vectors stored as f16 or
    // bf16 were widened to f32.
    std::span<const Weight> weights() const { return weights_; }
    // Whole pages that stay as they are while the model lives; most weights lie in one of them.
    std::vector<std::span<const std::byte>> mappings() const;

    // By the tensor's name in the file: without the prefix.
    const Weight* find_weight(std::string_view tensor) const;
    bool has_weight(std::string_view tensor) const { return find_weight(tensor) != nullptr; }
    DType weight_dtype(std::string_view tensor) const;       // asserts that it exists
    std::string weight_name(std::string_view tensor) const;  // with the prefix, as registered
    size_t n_parameters() const;
    // Tells it from other models, also from those of the same shape: gguf/fingerprint.h.
    uint64_t fingerprint() const { return gguf::fingerprint(file_); }

    // The forward pass: inputs token_ids, positions, cells, attn_span or kv_map, and tail_ids when
    // fewer rows than tokens are wanted; one output, logits [n_vocab, n_out].
    Result<Graph> build(const GraphParams& params) const;

  private:
    Model(gguf::File file, HParams hparams, std::string prefix)
        : file_(std::move(file)), hparams_(hparams), prefix_(std::move(prefix)) {}

    gguf::File file_;
    HParams hparams_;
    std::string prefix_;
    std::vector<Weight> weights_;                 // sorted by name
    std::vector<std::unique_ptr<float[]>> wide_;  // the widened vectors
    std::vector<JoinedWeights> joined_;
};

}  // namespace minfer
