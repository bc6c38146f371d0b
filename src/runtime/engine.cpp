#include "runtime/engine.h"

#include <algorithm>
#include <ranges>

#include "base/bytes_text.h"
#include "graph/lower.h"
#include "graph/reservation.h"
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

GraphParams step_params(const EngineOptions& options, KvFormat format, size_t gpu_layers,
                        size_t n_tokens, size_t n_out) {
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

Result<LoweredGraph> lowered(const Model& model, std::span<Backend* const> backends,
                             const GraphParams& params) {
    auto graph = MINFER_TRY(model.build(params));
    lower(graph, params, backends);
    return LoweredGraph{.params = params, .graph = std::move(graph)};
}

// A device may run a chain of plain nodes and not the fused form of it, for this shape or at all;
// and only devices run fused forms. Where one would be left to the CPU, the chain is used.
bool keep_fused_nodes_off_the_cpu(const Graph& decode, EngineOptions& options) {
    const auto before = std::pair(options.fuse_qkv, options.fuse_ffn);
    for (const auto& node : decode.nodes) {
        if (node.backend != BackendId::Cpu) continue;
        if (std::holds_alternative<op::FusedQkv>(node.op) ||
            std::holds_alternative<op::FusedQkvNorm>(node.op))
            options.fuse_qkv = false;
        if (std::holds_alternative<op::FusedFfn>(node.op)) options.fuse_ffn = false;
    }
    return before != std::pair(options.fuse_qkv, options.fuse_ffn);
}

// The graphs of a generated token and of the largest step of a prompt.
Result<std::vector<LoweredGraph>> first_steps(const Model& model,
                                              std::span<Backend* const> backends,
                                              EngineOptions& options, KvFormat format,
                                              size_t gpu_layers) {
    const auto step = [&](size_t n_tokens) {
        return lowered(model, backends, step_params(options, format, gpu_layers, n_tokens, 1));
    };
    std::vector<LoweredGraph> steps;
    steps.push_back(MINFER_TRY(step(1)));
    if (keep_fused_nodes_off_the_cpu(steps[0].graph, options)) steps[0] = MINFER_TRY(step(1));
    if (const auto longest = std::min(options.n_ubatch, options.n_ctx); longest > 1)
        steps.push_back(MINFER_TRY(step(longest)));
    return steps;
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
    const auto gpu_layers = offered.size() > 1 ? std::min(options.gpu_layers, hparams.n_layer) : 0;
    const auto asked = options;
    auto steps = MINFER_TRY(first_steps(model, offered, options, expected, gpu_layers));
    auto placed = MINFER_TRY(minfer::offload(model, backends, options.gpu_layers, steps));
    // Another one when no device is in use after all.
    const auto format = MINFER_TRY(choose_kv_format(options.kv_format, hparams, placed.backends));
    if (format != expected) MINFER_TRY(check_kv_fits(hparams, format, options));
    for (const auto* const backend : placed.backends)
        if (!backend->reads_kv(format))
            return fail(Fault::Unsupported, "backend {} does not read a KV cache of {} cells",
                        backend->name(), name(format));
    if (!std::ranges::equal(placed.backends, offered)) {
        options = asked;
        steps = MINFER_TRY(first_steps(model, placed.backends, options, format, placed.gpu_layers));
    }
    auto engine = std::unique_ptr<Engine>(new Engine(model, std::move(placed), options, format));
    // The prompt first: what is allocated for it serves the token, whose graph is then the current.
    for (auto& step : std::views::reverse(steps))
        MINFER_TRY(engine->runner_.bind_lowered(std::move(step)));
    MINFER_TRY(engine->make_cache());
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
    return step_params(options_, kv_format_, offload_.gpu_layers, n_tokens, n_out);
}

// The regions were made when the first graph was bound.
Result<> Engine::make_cache() {
    const auto& hp = model_.hparams();
    std::vector<KvCache::Layer> layers;
    for (uint32_t il = 0; il < hp.n_layer; ++il) {
        const auto regions = runner_.kv(il);
        MINFER_ASSERT(regions);
        layers.push_back(
            {.backend = find_backend(offload_.backends, regions->k.backend), .regions = *regions});
    }
    cache_.emplace(options_.n_ctx, kv_layout(kv_format_, hp.kv_width()),
                   op::Rope{.style = op::RopeStyle::NonInterleaved,
                            .freq_base = hp.rope_freq_base,
                            .freq_scale = hp.rope_freq_scale,
                            .n_head = hp.n_head_kv,
                            .head_dim = hp.head_dim},
                   std::move(layers));
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

Result<> Engine::check_ids(std::span<const TokenId> tokens) const {
    const auto n_vocab = model_.hparams().n_vocab;
    for (const auto id : tokens)
        if (static_cast<size_t>(id) >= n_vocab)
            return fail(Fault::BadInput, "token id {}, allowed are ids below {}",
                        static_cast<int32_t>(id), n_vocab);
    return {};
}

Result<std::span<const float>> Engine::evaluate(SeqId seq, std::span<const TokenId> tokens,
                                                size_t n_out, const Progress& progress) {
    if (n_out == 0 || n_out > tokens.size())
        return fail(Fault::BadInput, "{} rows of logits wanted of {} tokens", n_out, tokens.size());
    if (seq == kMainSequence && !cache_->store().find(seq))
        MINFER_TRY(cache_->reserve(seq, options_.n_ctx));
    MINFER_TRY(cache_->store().check_append(seq, tokens.size()));
    MINFER_TRY(check_ids(tokens));
    const auto n_vocab = model_.hparams().n_vocab;
    // One row more than wanted: a graph always computes at least one.
    logits_.resize((n_out + 1) * n_vocab);
    const auto spare = std::span(logits_).last(n_vocab);
    const auto first_wanted = tokens.size() - n_out;
    for (size_t begin = 0; begin < tokens.size();) {
        const auto end = std::min(begin + options_.n_ubatch, tokens.size());
        const auto wanted_from = std::max(begin, first_wanted);
        const auto rows = end > wanted_from ? end - wanted_from : 0;
        const auto part = BatchPart{.seq = seq, .tokens = tokens.subspan(begin, end - begin)};
        MINFER_TRY(run(std::span(&part, 1),
                       rows ? std::span(logits_).subspan((wanted_from - first_wanted) * n_vocab,
                                                         rows * n_vocab)
                            : spare));
        begin = end;
        if (progress && begin < tokens.size() && !progress(begin))
            return fail(Fault::Cancelled, "cancelled after {} of {} tokens", begin, tokens.size());
    }
    return std::span<const float>(logits_).first(n_out * n_vocab);
}

Result<std::span<const float>> Engine::step(std::span<const BatchPart> parts) {
    if (parts.empty()) return fail(Fault::BadInput, "a step of no sequences");
    size_t n_tokens = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        const auto& [seq, tokens] = parts[i];
        if (tokens.empty())
            return fail(Fault::BadInput, "no tokens for sequence {}", std::to_underlying(seq));
        for (size_t j = 0; j < i; ++j)
            if (parts[j].seq == seq)
                return fail(Fault::BadInput, "sequence {} twice in a step",
                            std::to_underlying(seq));
        MINFER_TRY(cache_->store().check_append(seq, tokens.size()));
        MINFER_TRY(check_ids(tokens));
        n_tokens += tokens.size();
    }
    if (n_tokens > options_.n_ubatch)
        return fail(Fault::BadInput, "{} tokens in a step, at most {} are allowed", n_tokens,
                    options_.n_ubatch);
    const auto n_logits = parts.size() * model_.hparams().n_vocab;
    logits_.resize(std::max(logits_.size(), n_logits));
    MINFER_TRY(run(parts, std::span(logits_).first(n_logits)));
    return std::span<const float>(logits_).first(n_logits);
}

Result<> Engine::run(std::span<const BatchPart> parts, std::span<float> logits) {
    const auto n_out = logits.size() / model_.hparams().n_vocab;
    inputs_.fill(cache_->store(), parts, n_out);
    auto wanted = params(inputs_.ids.size(), n_out);
    wanted.explicit_span = inputs_.explicit_span;
    wanted.kv_map = inputs_.kv_map;
    MINFER_TRY(runner_.bind(wanted));

    const auto write = [&](std::string_view name, const std::vector<int32_t>& values) {
        return runner_.write_input(name, std::as_bytes(std::span(values)));
    };
    MINFER_TRY(write("token_ids", inputs_.ids));
    MINFER_TRY(write("positions", inputs_.positions));
    MINFER_TRY(write("cells", inputs_.cells));
    MINFER_TRY(write(inputs_.kv_map ? "kv_map" : "attn_span", inputs_.window));
    if (n_out < inputs_.ids.size()) MINFER_TRY(write("tail_ids", inputs_.tail));
    MINFER_TRY(runner_.execute());
    MINFER_TRY(runner_.read_output(0, logits));
    for (const auto& [seq, tokens] : parts) cache_->append(seq, tokens);
    return {};
}

size_t Engine::n_past(SeqId seq) const {
    const auto* const sequence = cache_->store().find(seq);
    return sequence ? sequence->written : 0;
}

void Engine::truncate(size_t n_past) {
    MINFER_ASSERT(n_past <= this->n_past());
    if (this->n_past() > 0) MINFER_ASSERT(cache_->truncate(kMainSequence, n_past));
}

}  // namespace minfer
