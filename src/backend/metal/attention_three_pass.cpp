#include "backend/metal/attention_three_pass.h"

#include <algorithm>

#include "backend/metal/attention.h"
#include "backend/metal/context.h"
#include "backend/metal/kernels/attention_three_pass.h"

namespace minfer::metal {

using Pass = ThreePassAttention::Pass;

Result<size_t> ThreePassAttention::prepare(Device& device, const AttentionShape& shape) {
    const auto n_rows = shape.n_tokens * shape.n_head, head_dim = shape.head_dim;
    MINFER_TRY(check_u32("query heads of all tokens", n_rows));
    const auto slab = three_pass_slab(n_rows, shape.n_ctx, kThreePassScratch);
    const auto launch = MINFER_TRY(plan_three_pass(slab));
    MINFER_TRY(pipelines.build(device, {Pass::Scores, head_dim},
                               fmt::format("attention_scores_{}", head_dim), launch));
    MINFER_TRY(pipelines.build(device, {Pass::Softmax}, "attention_softmax", launch));
    MINFER_TRY(pipelines.build(device, {Pass::Output, head_dim},
                               fmt::format("attention_output_{}", head_dim), launch));
    return slab * shape.n_ctx * sizeof(float);
}

size_t three_pass_slab(size_t n_rows, size_t n_cells, size_t scratch_bytes) {
    return std::min(n_rows, scratch_bytes / (n_cells * sizeof(float)));
}

Result<Launch> plan_three_pass(size_t n_rows) {
    const auto rows = MINFER_TRY(to_u32("rows of scores", n_rows));
    return Launch{.groups = {.x = ceil_div(rows, uint32_t{kThreePassSimdGroups})},
                  .threads = {.x = kThreePassSimdGroups * kSimdWidth}};
}

Result<> run_three_pass(Context& context, const AttentionCall& call) {
    const auto& pipelines = context.kernels.attention.three_pass.pipelines;
    const auto* const scores = MINFER_TRY(pipelines.find({Pass::Scores, call.head_dim}));
    const auto* const softmax = MINFER_TRY(pipelines.find({Pass::Softmax}));
    const auto* const output = MINFER_TRY(pipelines.find({Pass::Output, call.head_dim}));
    const auto n_rows = call.n_tokens * call.n_head;
    const auto slab = three_pass_slab(n_rows, call.end_cell, call.scratch.bytes);
    if (slab == 0)
        return fail(Fault::BadInput, "{} bytes of scratch hold no scores of {} cells",
                    call.scratch.bytes, call.end_cell);
    const auto n_head = MINFER_TRY(to_u32("heads", call.n_head));
    const auto group = MINFER_TRY(to_u32("heads", call.group()));
    const auto n_keys = MINFER_TRY(to_u32("cells", call.end_cell));
    const auto cell_bytes = MINFER_TRY(to_u32("bytes of a cell", call.cell_bytes));
    for (size_t first = 0; first < n_rows; first += slab) {
        const auto rows = std::min(slab, n_rows - first);
        const auto launch = MINFER_TRY(plan_three_pass(rows));
        const auto args = ThreePassArgs{.first_row = static_cast<uint32_t>(first),
                                        .n_rows = static_cast<uint32_t>(rows),
                                        .n_head = n_head,
                                        .group = group,
                                        .n_keys = n_keys,
                                        .cell_bytes = cell_bytes,
                                        .scale = call.scale};
        MINFER_TRY(
            context.dispatch(*scores, launch, {call.q, call.k, call.window, call.scratch}, args));
        MINFER_TRY(context.dispatch(*softmax, launch, {call.window, call.scratch}, args));
        MINFER_TRY(
            context.dispatch(*output, launch, {call.scratch, call.v, call.window, call.out}, args));
    }
    return {};
}

}  // namespace minfer::metal
