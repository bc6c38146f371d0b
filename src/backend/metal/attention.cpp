#include "backend/metal/attention.h"

#include "backend/metal/kernels/attention.h"
#include "backend/metal/kv.h"
#include "backend/metal/ops.h"
#include "graph/attn_window.h"

namespace minfer::metal {
namespace {

Result<> check_geometry(const op::Attention& attention) {
    const auto head_dim = attention.head_dim;
    if (head_dim == 0 || head_dim > kAttentionMaxHeadDim || head_dim % 4 != 0)
        return fail(Fault::Unsupported,
                    "heads of {} elements, multiples of 4 up to {} run on Metal", head_dim,
                    static_cast<uint32_t>(kAttentionMaxHeadDim));
    if (attention.n_head == 0 || attention.n_head_kv == 0 ||
        attention.n_head % attention.n_head_kv != 0)
        return fail(Fault::BadInput, "{} query heads do not fit to {} KV heads", attention.n_head,
                    attention.n_head_kv);
    if (attention.layout.width != attention.n_head_kv * head_dim)
        return fail(Fault::BadInput, "cells of {} elements, {} KV heads of {} need {}",
                    attention.layout.width, attention.n_head_kv, head_dim,
                    attention.n_head_kv * head_dim);
    return {};
}

struct Window {
    AttentionWindow kind;
    Slice data;
};

// Which input tells what a token sees, once its values are known to lie in the arena.
Result<Window> window_of(const Context& context, const Call& call, const op::Attention& attention,
                         size_t n_tokens) {
    if (!attention.explicit_span) {
        const auto positions = MINFER_TRY(context.ints_in(call, 2, n_tokens));
        for (size_t t = 0; t < n_tokens; ++t)
            if (positions[t] < 0 || static_cast<size_t>(positions[t]) >= attention.n_ctx)
                return fail(Fault::BadInput, "position {} of token {}, the arena has {} cells",
                            positions[t], t, attention.n_ctx);
        return Window{kWindowCausal, context.pool.slice(call.in[2])};
    }
    const auto count = call.in.size() > 3 ? call.in[3].bytes / sizeof(int32_t) : 0;
    const auto kind = MINFER_TRY(window_kind(count, n_tokens));
    const auto data = MINFER_TRY(context.ints_in(call, 3, count));
    MINFER_TRY(check_windows(kind, data, n_tokens, attention.n_ctx));
    return Window{kind == WindowKind::Map ? kWindowMap : kWindowSpan,
                  context.pool.slice(call.in[3])};
}

}  // namespace

Result<AttentionKernels> AttentionKernels::build(const Device& device) {
    AttentionKernels kernels;
    kernels.classic =
        MINFER_TRY(device.pipeline("attention_f32", size_t{kAttentionMaxSimdGroups} * kSimdWidth));
    kernels.classic_wide = MINFER_TRY(
        device.pipeline("attention_wide_f32", size_t{kAttentionMaxSimdGroups} * kSimdWidth));
    return kernels;
}

Result<Launch> plan_attention(size_t n_tokens, size_t n_head, size_t n_head_kv) {
    const auto group = MINFER_TRY(to_u32("query heads of a KV head", n_head / n_head_kv));
    const auto parts = ceil_div(group, uint32_t{kAttentionMaxSimdGroups});
    const auto simdgroups = ceil_div(group, parts);
    const auto floats = kTileKeys * kTileStride + kTileKeys + simdgroups * kTileKeys;
    return Launch{.groups = {.x = MINFER_TRY(to_u32("tokens", n_tokens)),
                             .y = MINFER_TRY(to_u32("KV heads", n_head_kv)),
                             .z = parts},
                  .threads = {.x = simdgroups * kSimdWidth},
                  .shared_bytes = floats * static_cast<uint32_t>(sizeof(float))};
}

Result<> run(Context& context, const Call& call, const op::Attention& attention) {
    MINFER_TRY(check_geometry(attention));
    const auto regions = MINFER_TRY(kv_regions(context, call, *op_kv_use(call.node->op)));
    const auto count = elements(call.node->shape), width = attention.n_head * attention.head_dim;
    if (count == 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements are not rows of {} heads of {}", count,
                    attention.n_head, attention.head_dim);
    const auto n_tokens = count / width;
    const auto q = MINFER_TRY(context.words_in(call, 0, count));
    const auto window = MINFER_TRY(window_of(context, call, attention, n_tokens));
    const auto out = MINFER_TRY(context.words_out(call, count));
    const auto& kernels = context.kernels.attention;
    const auto launch = MINFER_TRY(plan_attention(n_tokens, attention.n_head, attention.n_head_kv));
    // Kernels find a head within a token by a product of 32 bits.
    MINFER_TRY(check_u32("elements of a token", width));
    const auto args = AttentionArgs{
        .window = window.kind,
        .n_tokens = MINFER_TRY(to_u32("tokens", n_tokens)),
        .n_head = MINFER_TRY(to_u32("heads", attention.n_head)),
        .group = MINFER_TRY(to_u32("heads", attention.n_head / attention.n_head_kv)),
        .head_dim = MINFER_TRY(to_u32("elements of a head", attention.head_dim)),
        .cell_floats =
            MINFER_TRY(to_u32("elements of a cell", attention.layout.row_bytes / sizeof(float))),
        .scale = attention.scale};
    return context.dispatch(attention.head_dim <= 128 ? kernels.classic : kernels.classic_wide,
                            launch, {q, regions.k, regions.v, window.data, out}, args);
}

}  // namespace minfer::metal
