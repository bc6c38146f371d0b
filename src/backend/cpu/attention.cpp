// Attention: each head of each token over the token's own window of cells.

#include "backend/cpu/ops.h"
#include "graph/attn_window.h"

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

}  // namespace

Result<> run(Context& context, const Call& call, const op::Attention& attention) {
    const auto& layout = attention.layout;
    const auto head_dim = attention.head_dim, n_head = attention.n_head;
    const auto n_head_kv = attention.n_head_kv;
    const auto count = elements(call.node->shape), width = n_head * head_dim;
    if (!has_kv_kernels(layout.format))
        return fail(Fault::Unsupported, "cells of format {}, f32 runs",
                    static_cast<int>(layout.format));
    if (width == 0 || n_head_kv == 0 || n_head % n_head_kv != 0 || count % width != 0 ||
        layout.width != n_head_kv * head_dim || layout.row_bytes < layout.width * sizeof(float))
        return fail(Fault::BadInput,
                    "{} elements, {} query heads over {} KV heads of {}, cells of {} elements and "
                    "{} bytes do not fit together",
                    count, n_head, n_head_kv, head_dim, layout.width, layout.row_bytes);
    const auto n_tokens = count / width;
    if (!call.kv) return fail(Fault::BadInput, "layer {} has no KV regions", attention.layer);
    const auto region_bytes = layout.row_bytes * attention.n_ctx;
    if (call.kv->k.bytes < region_bytes || call.kv->v.bytes < region_bytes)
        return fail(Fault::BadInput, "KV regions have {} and {} bytes, {} cells of {} need {}",
                    call.kv->k.bytes, call.kv->v.bytes, attention.n_ctx, layout.row_bytes,
                    region_bytes);

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
    MINFER_TRY(context.grow_worker_scratch(attention.n_ctx * sizeof(float)));

    const auto* const k = context.pool.view(call.kv->k).data();
    const auto* const v = context.pool.view(call.kv->v).data();
    const auto group = n_head / n_head_kv;
    const auto run_head = [&](size_t item, int worker) {
        const auto token = item / n_head, head = item % n_head;
        const auto window = windows.token(token);
        const auto kv_offset = head / group * head_dim * sizeof(float);
        context.kernels.attention_f32({
            .q = q + item * head_dim,
            .k = k + kv_offset,
            .v = v + kv_offset,
            .row_bytes = layout.row_bytes,
            .runs = window.runs,
            .n_runs = window.n_runs,
            .scale = attention.scale,
            .head_dim = head_dim,
            .scores = context.worker_memory<float>(worker),
            .out = out + item * head_dim,
        });
    };
    // Work per head grows with the window; the last token has the longest in a causal batch.
    const auto cost = windows.token(n_tokens - 1).cells * head_dim;
    for_rows(context.threads, n_tokens * n_head, cost, run_head);
    return {};
}

}  // namespace minfer::cpu
