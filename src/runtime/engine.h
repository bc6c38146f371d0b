#pragma once
// Runs a model over growing sequences: tokens in, logits out, keys and values kept in between.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/runner.h"
#include "model/model.h"
#include "runtime/batch.h"
#include "runtime/kv_cache.h"
#include "runtime/offload.h"

namespace minfer {

struct EngineOptions {
    size_t n_ctx = 4096;    // cells of the KV arena: most tokens all sequences together can hold
    size_t n_ubatch = 512;  // most tokens in one graph; results do not depend on it
    std::optional<KvFormat> kv_format;          // none: chosen as in runtime/kv_format.h
    std::optional<size_t> memory_budget_bytes;  // a KV arena above it is refused, not tried
    // Blocks on a device when there is one, from the first on; what lies outside every block goes
    // with the last.
    size_t gpu_layers = SIZE_MAX;
    // A decode step runs fused nodes where model and device have them. Over the joined weights of
    // the model (Model::join_weights) if asked for, else over the weights as they are.
    bool fuse_qkv = true, fuse_ffn = true;
    bool concat_weights = false;
};

class Engine {
  public:
    // Registers the weights, and builds and binds the graphs of a decode step and of n_ubatch
    // tokens of prompt, so that whatever cannot run is refused here by name, and what both take is
    // allocated; a KV arena above the budget, or a device with too little memory for them, is
    // OutOfMemory with both numbers. Cells that a device in use does
    // not read, or that are no whole blocks of their format, are Unsupported. A device that has no
    // kernel for one of its weights or for a step's shapes is not used at all: offload() tells.
    // Model and backends (priority order, CPU last) outlive the engine.
    static Result<std::unique_ptr<Engine>> create(const Model& model,
                                                  std::vector<Backend*> backends,
                                                  EngineOptions options);

    // Called between the graphs of a long prompt with the number of tokens done; false cancels.
    using Progress = std::function<bool(size_t done)>;

    // Appends tokens to a sequence and returns the logits of the last `n_out` of them, row by row
    // [n_out][n_vocab], valid until the next call. After an error, or when cancelled (Fault::
    // Cancelled), the tokens of finished graphs stay evaluated: see n_past().
    // The main sequence takes the whole arena when nobody reserved cells for it.
    // BadInput: no tokens, n_out 0 or above their number, an id outside the vocabulary, or more
    // tokens than the sequence still has room for.
    Result<std::span<const float>> evaluate(std::span<const TokenId> tokens, size_t n_out = 1,
                                            const Progress& progress = {}) {
        return evaluate(kMainSequence, tokens, n_out, progress);
    }
    Result<std::span<const float>> evaluate(SeqId seq, std::span<const TokenId> tokens,
                                            size_t n_out = 1, const Progress& progress = {});

    // Appends to several sequences in one graph, and returns the logits of the last token of each
    // part [parts][n_vocab], valid until the next call. A part's logits do not depend on the
    // others. All or nothing: after an error no part was appended. BadInput: no parts, a part
    // without tokens, a sequence that has no room or is there twice, or more than n_ubatch tokens
    // in all.
    Result<std::span<const float>> step(std::span<const BatchPart> parts);

    // Forgets everything of the main sequence from position `n_past` on; must not exceed n_past().
    void truncate(size_t n_past);

    size_t n_past(SeqId seq = kMainSequence) const;  // positions evaluated
    // Room, sharing, removal: what sequences there are and where they lie.
    KvCache& cache() { return *cache_; }
    const KvCache& cache() const { return *cache_; }
    size_t n_ctx() const { return options_.n_ctx; }
    const Model& model() const { return model_; }
    const EngineOptions& options() const { return options_; }
    KvFormat kv_format() const { return kv_format_; }
    size_t kv_bytes() const;  // of the whole cache
    // What runs where, and why if not on a device.
    const Offload& offload() const { return offload_; }
    const RunnerCounters& counters() const { return runner_.counters(); }
    const Graph& graph() const { return runner_.graph(); }  // the one last run

    // Who looks on from the next step to the last one before another call.
    void watch(Watches watches) { runner_.watch(watches); }

    // Makes the graph for a step of this shape current without running it (exports).
    Result<> prepare(size_t n_tokens, size_t n_out);

  private:
    Engine(const Model& model, Offload offload, EngineOptions options, KvFormat kv_format);
    GraphParams params(size_t n_tokens, size_t n_out) const;
    Result<> make_cache();
    Result<> check_ids(std::span<const TokenId> tokens) const;
    // Evaluates and appends; as many rows of logits as `logits` holds.
    Result<> run(std::span<const BatchPart> parts, std::span<float> logits);

    const Model& model_;
    Offload offload_;
    EngineOptions options_;
    KvFormat kv_format_;
    GraphRunner runner_;
    std::optional<KvCache> cache_;  // once there are regions
    BatchInputs inputs_;
    std::vector<float> logits_;
};

}  // namespace minfer
