#include "backend/metal/attention_stage.h"

#include <algorithm>

#include "backend/metal/attention.h"
#include "backend/metal/context.h"
#include "backend/metal/kernels/attention_prefill.h"
#include "backend/metal/kernels/attention_stage.h"

namespace minfer::metal {
namespace {

Result<> expand(Context& context, const AttentionCall& call, const Slice& stage,
                const CellExtent& cells) {
    const auto launch = MINFER_TRY(plan_stage(call.cell_width(), cells.end - cells.first));
    const auto args = AttentionStageArgs{
        .first_cell = MINFER_TRY(to_u32("cells", cells.first)),
        .n_ctx = MINFER_TRY(to_u32("cells", call.n_ctx)),
        .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", call.cell_bytes)),
        .cell_width = MINFER_TRY(to_u32("elements of a cell", call.cell_width()))};
    const auto* const pipeline =
        MINFER_TRY(context.kernels.attention.stage.pipelines.find(call.cells));
    return context.dispatch(*pipeline, launch, {call.k, call.v, stage}, args);
}

}  // namespace

Result<size_t> CellStage::prepare(Device& device, const AttentionShape& shape) {
    const auto width = shape.n_head_kv * shape.head_dim;
    const auto launch = MINFER_TRY(plan_stage(width, shape.n_ctx));
    MINFER_TRY(pipelines.build(device, shape.cells,
                               fmt::format("kv_dequantize_{}", name(shape.cells)), launch));
    return 2 * shape.n_ctx * width * sizeof(float);
}

Result<Launch> plan_stage(size_t cell_width, size_t n_cells) {
    const auto fours = ceil_div(MINFER_TRY(to_u32("elements of a cell", cell_width)), 4U);
    const auto threads = threads_of_row(fours, kStageThreads);
    return Launch{.groups = {.x = MINFER_TRY(to_u32("cells", n_cells)),
                             .y = ceil_div(fours, threads),
                             .z = 2},
                  .threads = {.x = threads}};
}

std::vector<CellExtent> stage_ranges(WindowKind kind, std::span<const int32_t> windows,
                                     size_t n_tokens, const CellExtent& seen) {
    constexpr size_t kBlock = kPrefillCells;
    auto is_seen = std::vector<bool>(ceil_div(seen.end - seen.first, kBlock), false);
    for_runs(kind, windows, n_tokens, [&](size_t first, size_t end) {
        const auto past = ceil_div(end - seen.first, kBlock);
        for (auto block = (first - seen.first) / kBlock; block < past; ++block)
            is_seen[block] = true;
    });
    std::vector<CellExtent> ranges;
    for (size_t block = 0; block < is_seen.size(); ++block) {
        if (!is_seen[block]) continue;
        const auto first = seen.first + block * kBlock;
        const auto end = std::min(first + kBlock, seen.end);
        if (!ranges.empty() && ranges.back().end == first)
            ranges.back().end = end;
        else
            ranges.push_back({.first = first, .end = end});
    }
    while (ranges.size() > kMostStageRanges) {
        const auto gap = [&](size_t i) { return ranges[i + 1].first - ranges[i].end; };
        size_t narrowest = 0;
        for (size_t i = 1; i + 1 < ranges.size(); ++i)
            if (gap(i) < gap(narrowest)) narrowest = i;
        ranges[narrowest].end = ranges[narrowest + 1].end;
        ranges.erase(ranges.begin() + static_cast<ptrdiff_t>(narrowest) + 1);
    }
    return ranges;
}

Result<AttentionCall> stage_cells(Context& context, const AttentionCall& call) {
    const auto half = call.n_ctx * call.cell_width() * sizeof(float);
    const auto stage = MINFER_TRY(scratch_part(call, 0, 2 * half));
    const auto seen = CellExtent{.first = call.first_cell, .end = call.end_cell};
    // A causal token sees everything before it; and tiles that skip nothing read everything.
    if (call.window_kind == kWindowCausal || !context.options.attention.skip_tiles) {
        MINFER_TRY(expand(context, call, stage, seen));
    } else {
        const auto kind = call.window_kind == kWindowMap ? WindowKind::Map : WindowKind::Span;
        for (const auto& cells : stage_ranges(kind, call.window_data, call.n_tokens, seen))
            MINFER_TRY(expand(context, call, stage, cells));
    }
    auto staged = call;
    staged.cells = CellType::F32;
    staged.cell_bytes = call.cell_width() * sizeof(float);
    staged.k = stage.part(0, half);
    staged.v = stage.part(half, half);
    staged.scratch = call.scratch.part(2 * half, call.scratch.bytes - 2 * half);
    return staged;
}

}  // namespace minfer::metal
