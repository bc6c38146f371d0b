#include "backend/metal/attention_prefill.h"

#include "backend/metal/attention.h"
#include "backend/metal/context.h"
#include "backend/metal/kernels/attention_prefill.h"

namespace minfer::metal {
namespace {

std::string_view name(AttentionWindow window) {
    switch (window) {
        case kWindowCausal:
            return "causal";
        case kWindowSpan:
            return "span";
        case kWindowMap:
            return "map";
    }
    std::unreachable();
}

size_t element_bytes(CellType cells) {
    MINFER_ASSERT(!is_packed(cells));
    return cells == CellType::F16 ? 2 : 4;
}

size_t tail_bytes(size_t cell_bytes) { return 2 * size_t{kPrefillCells} * cell_bytes; }

// Cells of the last block, 0 when it is whole.
size_t tail_cells(const AttentionCall& call) {
    return (call.end_cell - call.first_cell) % kPrefillCells;
}

Result<> pad_tail(Context& context, const AttentionCall& call, const Slice& tail) {
    const auto n_cells = tail_cells(call);
    if (n_cells == 0) return {};
    const auto args =
        AttentionTailPadArgs{.first_cell = MINFER_TRY(to_u32("cells", call.end_cell - n_cells)),
                             .n_cells = static_cast<uint32_t>(n_cells),
                             .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", call.cell_bytes))};
    const auto launch = MINFER_TRY(plan_tail_pad(call.cell_bytes));
    const auto* const pipeline = MINFER_TRY(context.kernels.attention.prefill.tail_pad.find({}));
    return context.dispatch(*pipeline, launch, {call.k, call.v, tail}, args);
}

}  // namespace

Result<size_t> PrefillAttention::prepare(Device& device, const AttentionShape& shape) {
    const auto launch = MINFER_TRY(plan_prefill(shape.n_tokens, shape.n_head, shape.head_dim));
    const auto build = [&](AttentionWindow window) {
        return pipelines.build(device, {shape.cells, shape.head_dim, window},
                               fmt::format("attention_prefill_{}_{}_{}", metal::name(shape.cells),
                                           shape.head_dim, name(window)),
                               launch);
    };
    if (shape.explicit_span) {
        MINFER_TRY(build(kWindowSpan));
        MINFER_TRY(build(kWindowMap));
    } else {
        MINFER_TRY(build(kWindowCausal));
    }
    const auto cell_bytes = shape.n_head_kv * shape.head_dim * element_bytes(shape.cells);
    const auto pad_launch = MINFER_TRY(plan_tail_pad(cell_bytes));
    MINFER_TRY(tail_pad.build(device, {}, "attention_tail_pad", pad_launch));
    return tail_bytes(cell_bytes);
}

Result<Launch> plan_prefill(size_t n_tokens, size_t n_head, size_t head_dim) {
    const auto tokens = MINFER_TRY(to_u32("tokens", n_tokens));
    return Launch{
        .groups = {.x = ceil_div(tokens, uint32_t{kPrefillQueries}),
                   .y = MINFER_TRY(to_u32("heads", n_head))},
        .threads = {.x = kPrefillThreads},
        .shared_bytes = prefill_shared_bytes(MINFER_TRY(to_u32("elements of a head", head_dim)))};
}

Result<Launch> plan_tail_pad(size_t cell_bytes) {
    const auto pieces = ceil_div(MINFER_TRY(to_u32("bytes of a cell", cell_bytes)), 16U);
    const auto threads = threads_of_row(pieces, kTailPadThreads);
    return Launch{.groups = {.x = ceil_div(pieces, threads), .y = kPrefillCells, .z = 2},
                  .threads = {.x = threads}};
}

Result<> run_prefill(Context& context, const AttentionCall& call) {
    const auto& options = context.options.attention;
    const auto tail = MINFER_TRY(scratch_part(call, 0, tail_bytes(call.cell_bytes)));
    MINFER_TRY(pad_tail(context, call, tail));
    const auto launch = MINFER_TRY(plan_prefill(call.n_tokens, call.n_head, call.head_dim));
    const bool is_causal = call.window_kind == kWindowCausal;
    const auto args = AttentionPrefillArgs{
        .n_tokens = MINFER_TRY(to_u32("tokens", call.n_tokens)),
        .n_head = MINFER_TRY(to_u32("heads", call.n_head)),
        .group = MINFER_TRY(to_u32("heads", call.group())),
        .cell_width = MINFER_TRY(to_u32("elements of a cell", call.cell_width())),
        .first_cell = MINFER_TRY(to_u32("cells", call.first_cell)),
        .end_cell = MINFER_TRY(to_u32("cells", call.end_cell)),
        .only_seen = is_causal ? options.early_stop : options.skip_tiles,
        .scale = call.scale};
    const auto* const pipeline = MINFER_TRY(context.kernels.attention.prefill.pipelines.find(
        {call.cells, call.head_dim, call.window_kind}));
    return context.dispatch(*pipeline, launch,
                            {call.q, call.k, call.v, tail, call.window, call.out}, args);
}

}  // namespace minfer::metal
