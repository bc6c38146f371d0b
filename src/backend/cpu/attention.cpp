// Attention: each head of each token over the token's own window of cells.

#include <utility>

#include "backend/cpu/kv.h"
#include "backend/cpu/ops.h"
#include "graph/attn_window.h"
#include "tensor/blocks.h"

namespace minfer::cpu {
namespace {

// The window of one token, from either layout of the window input.
struct Window {
    CellRun runs[kKvMapMaxSpans];
    size_t n_runs = 0;
    size_t cells = 0;  // in all runs
};

// The input told apart by its length: [lo of every token, hi of every token], or up to four
// (cell, length) runs per token, zero-padded.
struct Windows {
    const int32_t* data;
    size_t n_tokens;
    bool map;

    Window token(size_t t) const {
        auto window = Window();
        const auto append = [&](int64_t cell, int64_t count) {
            window.runs[window.n_runs++] = {static_cast<size_t>(cell), static_cast<size_t>(count)};
            window.cells += static_cast<size_t>(count);
        };
        if (!map) {
            append(data[t], int64_t{data[n_tokens + t]} - data[t]);
            return window;
        }
        for (size_t i = 0; i < kKvMapMaxSpans; ++i) {
            const auto* const run = data + (t * kKvMapMaxSpans + i) * 2;
            if (run[1] == 0) break;
            append(run[0], run[1]);
        }
        return window;
    }
};

// The query is in 8 bits as well where cells are, unless the answer has to be exact or a head does
// not consist of whole blocks.
auto kernel(const Context& context, const op::Attention& attention) {
    const auto& kernels = context.kernels;
    switch (attention.layout.format) {
        case KvFormat::F32:
            return kernels.attention_f32;
        case KvFormat::F16:
            return kernels.attention_f16;
        case KvFormat::Q8_0:
            return context.activations == CpuActivations::Quantized &&
                           attention.head_dim % kBlockValues == 0
                       ? kernels.attention_q8
                       : kernels.attention_q8_0;
    }
    std::unreachable();
}

}  // namespace

Result<> run(Context& context, const Call& call, const op::Attention& attention) {
    const auto& layout = attention.layout;
    const auto head_dim = attention.head_dim, n_head = attention.n_head;
    const auto n_head_kv = attention.n_head_kv;
    const auto count = elements(call.node->shape), width = n_head * head_dim;
    if (width == 0 || n_head_kv == 0 || n_head % n_head_kv != 0 || count % width != 0 ||
        layout.width != n_head_kv * head_dim)
        return fail(Fault::BadInput,
                    "{} elements, {} query heads over {} KV heads of {} and cells of {} elements "
                    "do not fit together",
                    count, n_head, n_head_kv, head_dim, layout.width);
    const auto n_tokens = count / width;
    const auto regions = MINFER_TRY(kv_cells(context, call, *op_kv_use(call.node->op)));

    const auto* const q = MINFER_TRY(context.floats_in(call, 0, count));
    const auto* const positions = MINFER_TRY(context.ints_in(call, 2, n_tokens));
    for (size_t t = 0; t < n_tokens; ++t)
        if (positions[t] < 0 || static_cast<size_t>(positions[t]) >= attention.n_ctx)
            return fail(Fault::BadInput, "position {} of token {}, the arena has {} cells",
                        positions[t], t, attention.n_ctx);
    const auto window_elements = call.in.size() > 3 ? call.in[3].bytes / sizeof(int32_t) : 0;
    const auto kind = MINFER_TRY(window_kind(window_elements, n_tokens));
    const auto* const window_data = MINFER_TRY(context.ints_in(call, 3, window_elements));
    MINFER_TRY(check_windows(kind, {window_data, window_elements}, n_tokens, attention.n_ctx));
    const auto windows =
        Windows{.data = window_data, .n_tokens = n_tokens, .map = kind == WindowKind::Map};
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    const auto scores_bytes = attention.n_ctx * sizeof(float);
    MINFER_TRY(context.grow_worker_scratch(scores_bytes + act_row_bytes(ActFormat::Q8, head_dim)));

    const auto attend = kernel(context, attention);
    const auto group = n_head / n_head_kv;
    const auto run_head = [&](size_t item, int worker) {
        const auto token = item / n_head, head = item % n_head;
        const auto window = windows.token(token);
        auto* const scratch = context.worker_memory<std::byte>(worker);
        attend({
            .q = q + item * head_dim,
            .k = regions.k,
            .v = regions.v,
            .row_bytes = layout.row_bytes,
            .first = head / group * head_dim,
            .runs = window.runs,
            .n_runs = window.n_runs,
            .scale = attention.scale,
            .head_dim = head_dim,
            .scores = reinterpret_cast<float*>(scratch),
            .query = scratch + scores_bytes,
            .out = out + item * head_dim,
        });
    };
    // Work per head grows with the window; the last token has the longest in a causal batch.
    const auto cost = windows.token(n_tokens - 1).cells * head_dim;
    for_rows(context.threads, n_tokens * n_head, cost, run_head);
    return {};
}

}  // namespace minfer::cpu
