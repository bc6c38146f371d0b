#include "backend/metal/attention.h"

#include <algorithm>
#include <utility>

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
    // Kernels find a head within a token by a product of 32 bits.
    return check_u32("elements of a token", attention.n_head * head_dim);
}

Result<AttentionShape> shape_of(const Node& node, const op::Attention& attention,
                                const AttentionOptions& options) {
    MINFER_TRY(check_geometry(attention));
    const auto count = elements(node.shape), width = attention.n_head * attention.head_dim;
    if (count == 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements are not rows of {} heads of {}", count,
                    attention.n_head, attention.head_dim);
    return AttentionShape{.n_tokens = count / width,
                          .n_head = attention.n_head,
                          .n_head_kv = attention.n_head_kv,
                          .head_dim = attention.head_dim,
                          .n_ctx = attention.n_ctx,
                          .cells = cell_type(attention.layout.format, options),
                          .explicit_span = attention.explicit_span};
}

// The cells that any token may see, once each window is known to lie in the arena.
Result<> read_window(const Context& context, const Call& call, const op::Attention& attention,
                     AttentionCall& at) {
    const auto n_tokens = at.n_tokens;
    if (!attention.explicit_span) {
        const auto positions = MINFER_TRY(context.ints_in(call, 2, n_tokens));
        for (size_t t = 0; t < n_tokens; ++t)
            if (positions[t] < 0 || static_cast<size_t>(positions[t]) >= attention.n_ctx)
                return fail(Fault::BadInput, "position {} of token {}, the arena has {} cells",
                            positions[t], t, attention.n_ctx);
        at.window_kind = kWindowCausal;
        at.window = context.pool.slice(call.in[2]);
        at.window_data = positions;
        at.end_cell = static_cast<size_t>(std::ranges::max(positions)) + 1;
        return {};
    }
    const auto count = call.in.size() > 3 ? call.in[3].bytes / sizeof(int32_t) : 0;
    const auto kind = MINFER_TRY(window_kind(count, n_tokens));
    at.window_data = MINFER_TRY(context.ints_in(call, 3, count));
    MINFER_TRY(check_windows(kind, at.window_data, n_tokens, attention.n_ctx));
    at.window_kind = kind == WindowKind::Map ? kWindowMap : kWindowSpan;
    at.window = context.pool.slice(call.in[3]);
    const auto [first, end] = window_extent(kind, at.window_data, n_tokens);
    at.first_cell = first;
    at.end_cell = end;
    return {};
}

}  // namespace

Result<Slice> scratch_part(const AttentionCall& call, size_t begin, size_t bytes) {
    if (begin > call.scratch.bytes || bytes > call.scratch.bytes - begin)
        return fail(Fault::BadInput, "scratch of {} bytes, at least {} are wanted",
                    call.scratch.bytes, begin + bytes);
    return call.scratch.part(begin, bytes);
}

Result<size_t> AttentionKernels::prepare(Device& device, const AttentionShape& shape,
                                         const AttentionOptions& options) {
    const auto route = attention_route(shape, options);
    auto read = shape;
    size_t stage_bytes = 0;
    if (route.staged) {
        stage_bytes = MINFER_TRY(stage.prepare(device, shape));
        read.cells = CellType::F32;
    }
    size_t family_bytes = 0;
    switch (route.family) {
        case AttentionFamily::DecodeFlash:
            family_bytes = MINFER_TRY(decode.prepare_flash(device, read, options));
            break;
        case AttentionFamily::DecodeSplit:
            family_bytes = MINFER_TRY(decode.prepare_split(device, read, options));
            break;
        case AttentionFamily::PrefillFlash:
        case AttentionFamily::WindowFlash:
            family_bytes = MINFER_TRY(prefill.prepare(device, read));
            break;
        case AttentionFamily::ThreePass:
            family_bytes = MINFER_TRY(three_pass.prepare(device, read));
            break;
        case AttentionFamily::Classic:
            MINFER_TRY(classic.prepare(device, read));
    }
    return stage_bytes + family_bytes;
}

Result<size_t> prepare(Context& context, const Node& node, const op::Attention& attention) {
    const auto& options = context.options.attention;
    const auto shape = MINFER_TRY(shape_of(node, attention, options));
    return context.kernels.attention.prepare(*context.device, shape, options);
}

Result<> run(Context& context, const Call& call, const op::Attention& attention) {
    const auto& options = context.options.attention;
    const auto shape = MINFER_TRY(shape_of(*call.node, attention, options));
    const auto regions = MINFER_TRY(kv_regions(context, call, *op_kv_use(call.node->op)));
    const auto count = elements(call.node->shape);
    auto at = AttentionCall{.n_tokens = shape.n_tokens,
                            .n_head = shape.n_head,
                            .n_head_kv = shape.n_head_kv,
                            .head_dim = shape.head_dim,
                            .n_ctx = shape.n_ctx,
                            .scale = attention.scale,
                            .cells = shape.cells,
                            .cell_bytes = attention.layout.row_bytes,
                            .q = MINFER_TRY(context.words_in(call, 0, count)),
                            .k = regions.k,
                            .v = regions.v,
                            .out = MINFER_TRY(context.words_out(call, count))};
    if (call.scratch.bytes) at.scratch = context.pool.slice(call.scratch);
    MINFER_TRY(read_window(context, call, attention, at));
    const auto route = attention_route(shape, options);
    if (route.staged) at = MINFER_TRY(stage_cells(context, at));
    switch (route.family) {
        case AttentionFamily::DecodeFlash:
            return run_decode_flash(context, at);
        case AttentionFamily::DecodeSplit:
            return run_decode_split(context, at);
        case AttentionFamily::PrefillFlash:
        case AttentionFamily::WindowFlash:
            return run_prefill(context, at);
        case AttentionFamily::ThreePass:
            return run_three_pass(context, at);
        case AttentionFamily::Classic:
            return run_classic(context, at);
    }
    std::unreachable();
}

}  // namespace minfer::metal
