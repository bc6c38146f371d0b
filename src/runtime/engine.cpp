#include "runtime/engine.h"

#include <algorithm>

#include "base/bytes_text.h"
#include "graph/lower.h"
#include "runtime/kv_format.h"

namespace minfer {
namespace {

// Before anything is allocated: systems that overcommit hand out what they do not have, and end
// the process when it is used.
Result<> check_kv_fits(const HParams& hp, KvFormat format, const EngineOptions& options) {
    if (!options.memory_budget_bytes) return {};
    const auto budget = *options.memory_budget_bytes;
    const auto row_bytes = kv_layout(format, hp.kv_width()).row_bytes;
    size_t token_bytes = 0, bytes = 0;
    const bool token_over = __builtin_mul_overflow(2 * hp.n_layer, row_bytes, &token_bytes);
    const bool over = __builtin_mul_overflow(token_bytes, options.n_ctx, &bytes) || token_over;
    if (!over && bytes <= budget) return {};
    const auto largest = token_over ? 0 : budget / token_bytes;  // 0 bytes a token would have fit
    return fail(Fault::OutOfMemory,
                "the {} KV cache for a context of {} tokens needs {}{}, {} are there; the largest "
                "context that fits is {}",
                name(format), options.n_ctx, over ? "more than " : "",
                bytes_text(over ? SIZE_MAX : bytes), bytes_text(budget), largest);
}

GraphParams step(const EngineOptions& options, KvFormat format, size_t gpu_layers, size_t n_tokens,
                 size_t n_out) {
    const bool on_device = gpu_layers > 0, decode = n_tokens == 1 && on_device;
    return {.n_tokens = n_tokens,
            .n_out = n_out,
            .n_ctx = options.n_ctx,
            .gpu = on_device,
            .gpu_layers = gpu_layers,
            .fuse_qkv = decode && options.fuse_qkv,
            .fuse_ffn = decode && options.fuse_ffn,
            .concat_weights = decode && options.concat_weights,
            .kv_format = format};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const Model& model, std::vector<Backend*> backends,
                                               EngineOptions options) {
    MINFER_ASSERT(!backends.empty());
    if (options.n_ctx == 0 || options.n_ubatch == 0)
        return fail(Fault::BadInput,
                    "context of {} and batch of {} tokens, both must be at least 1", options.n_ctx,
                    options.n_ubatch);
    const auto& hparams = model.hparams();
    const auto offered = std::span(backends).last(options.gpu_layers > 0 ? backends.size() : 1);
    const auto expected = MINFER_TRY(choose_kv_format(options.kv_format, hparams, offered));
    MINFER_TRY(check_kv_fits(hparams, expected, options));
    const auto gpu_layers = std::min(options.gpu_layers, hparams.n_layer);
    const auto longest = std::min(options.n_ubatch, options.n_ctx);
    const GraphParams steps[] = {step(options, expected, gpu_layers, 1, 1),
                                 step(options, expected, gpu_layers, longest, 1)};
    auto placed = MINFER_TRY(minfer::offload(model, backends, options.gpu_layers, steps));
    // Another one when no device is in use after all.
    const auto format = MINFER_TRY(choose_kv_format(options.kv_format, hparams, placed.backends));
    if (format != expected) MINFER_TRY(check_kv_fits(hparams, format, options));
    for (const auto* const backend : placed.backends)
        if (!backend->reads_kv(format))
            return fail(Fault::Unsupported, "backend {} does not read a KV cache of {} cells",
                        backend->name(), name(format));
    auto engine = std::unique_ptr<Engine>(new Engine(model, std::move(placed), options, format));
    MINFER_TRY(engine->keep_fused_nodes_off_the_cpu());
    MINFER_TRY(engine->prepare(1, 1));
    return engine;
}

Engine::Engine(const Model& model, Offload offload, EngineOptions options, KvFormat kv_format)
    : model_(model),
      offload_(std::move(offload)),
      options_(options),
      kv_format_(kv_format),
      runner_(offload_.backends,
              [&model](const GraphParams& params) { return model.build(params); }) {}

GraphParams Engine::params(size_t n_tokens, size_t n_out) const {
    return step(options_, kv_format_, offload_.gpu_layers, n_tokens, n_out);
}

// A device may run a chain of plain nodes and not the fused form of it, for this shape or at all;
// and only devices run fused forms. Where one would be left to the CPU, the chain is used.
Result<> Engine::keep_fused_nodes_off_the_cpu() {
    const auto decode = params(1, 1);
    auto graph = MINFER_TRY(model_.build(decode));
    lower(graph, decode, offload_.backends);
    for (const auto& node : graph.nodes) {
        if (node.backend != BackendId::Cpu) continue;
        if (std::holds_alternative<op::FusedQkv>(node.op) ||
            std::holds_alternative<op::FusedQkvNorm>(node.op))
            options_.fuse_qkv = false;
        if (std::holds_alternative<op::FusedFfn>(node.op)) options_.fuse_ffn = false;
    }
    return {};
}

size_t Engine::kv_bytes() const {
    const auto& hparams = model_.hparams();
    return 2 * hparams.n_layer * options_.n_ctx *
           kv_layout(kv_format_, hparams.kv_width()).row_bytes;
}

Result<> Engine::prepare(size_t n_tokens, size_t n_out) {
    return runner_.bind(params(n_tokens, n_out));
}

Result<std::span<const float>> Engine::evaluate(std::span<const TokenId> tokens, size_t n_out,
                                                const Progress& progress) {
    if (n_out == 0 || n_out > tokens.size())
        return fail(Fault::BadInput, "{} rows of logits wanted of {} tokens", n_out, tokens.size());
    if (tokens.size() > options_.n_ctx - n_past_)
        return fail(Fault::BadInput,
                    "{} tokens after the {} already evaluated do not fit a context of {}",
                    tokens.size(), n_past_, options_.n_ctx);
    const auto n_vocab = model_.hparams().n_vocab;
    for (const auto id : tokens)
        if (static_cast<size_t>(id) >= n_vocab)
            return fail(Fault::BadInput, "token id {}, allowed are ids below {}",
                        static_cast<int32_t>(id), n_vocab);
    // One row more than wanted: a graph always computes at least one.
    logits_.resize((n_out + 1) * n_vocab);
    const auto spare = std::span(logits_).last(n_vocab);
    const auto first_wanted = tokens.size() - n_out;
    for (size_t begin = 0; begin < tokens.size();) {
        const auto end = std::min(begin + options_.n_ubatch, tokens.size());
        const auto wanted_from = std::max(begin, first_wanted);
        const auto rows = end > wanted_from ? end - wanted_from : 0;
        MINFER_TRY(run(tokens.subspan(begin, end - begin),
                       rows ? std::span(logits_).subspan((wanted_from - first_wanted) * n_vocab,
                                                         rows * n_vocab)
                            : spare));
        n_past_ += end - begin;
        begin = end;
        if (progress && begin < tokens.size() && !progress(begin))
            return fail(Fault::Cancelled, "cancelled after {} of {} tokens", begin, tokens.size());
    }
    return std::span<const float>(logits_).first(n_out * n_vocab);
}

Result<> Engine::run(std::span<const TokenId> tokens, std::span<float> logits) {
    const auto nt = tokens.size();
    const auto n_out = logits.size() / model_.hparams().n_vocab;
    MINFER_TRY(prepare(nt, n_out));

    ids_.resize(nt);
    positions_.resize(nt);
    window_.resize(attn_span_elements(nt));
    for (size_t t = 0; t < nt; ++t) {
        ids_[t] = static_cast<int32_t>(tokens[t]);
        positions_[t] = static_cast<int32_t>(n_past_ + t);
        window_[t] = 0;
        window_[nt + t] = positions_[t] + 1;
    }
    const auto write = [&](std::string_view name, const std::vector<int32_t>& values) {
        return runner_.write_input(name, std::as_bytes(std::span(values)));
    };
    MINFER_TRY(write("token_ids", ids_));
    MINFER_TRY(write("positions", positions_));
    MINFER_TRY(write("cells", positions_));  // one sequence from cell 0: cell == position
    MINFER_TRY(write("attn_span", window_));
    if (n_out < nt) {
        tail_.resize(n_out);
        for (size_t i = 0; i < n_out; ++i) tail_[i] = static_cast<int32_t>(nt - n_out + i);
        MINFER_TRY(write("tail_ids", tail_));
    }
    MINFER_TRY(runner_.execute());
    return runner_.read_output(0, logits);
}

void Engine::truncate(size_t n_past) {
    MINFER_ASSERT(n_past <= n_past_);
    n_past_ = n_past;
}

}  // namespace minfer
