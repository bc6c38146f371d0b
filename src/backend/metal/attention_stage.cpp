#include "backend/metal/attention_stage.h"

#include "backend/metal/attention.h"
#include "backend/metal/context.h"
#include "backend/metal/kernels/attention_stage.h"

namespace minfer::metal {

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
    return Launch{.groups = {.x = ceil_div(fours, threads),
                             .y = MINFER_TRY(to_u32("cells", n_cells)),
                             .z = 2},
                  .threads = {.x = threads}};
}

Result<AttentionCall> stage_cells(Context& context, const AttentionCall& call) {
    const auto half = call.n_ctx * call.cell_width() * sizeof(float);
    const auto stage = MINFER_TRY(scratch_part(call, 0, 2 * half));
    const auto launch = MINFER_TRY(plan_stage(call.cell_width(), call.end_cell - call.first_cell));
    const auto args = AttentionStageArgs{
        .first_cell = MINFER_TRY(to_u32("cells", call.first_cell)),
        .n_ctx = MINFER_TRY(to_u32("cells", call.n_ctx)),
        .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", call.cell_bytes)),
        .cell_width = MINFER_TRY(to_u32("elements of a cell", call.cell_width()))};
    const auto* const pipeline =
        MINFER_TRY(context.kernels.attention.stage.pipelines.find(call.cells));
    MINFER_TRY(context.dispatch(*pipeline, launch, {call.k, call.v, stage}, args));
    auto staged = call;
    staged.cells = CellType::F32;
    staged.cell_bytes = call.cell_width() * sizeof(float);
    staged.k = stage.part(0, half);
    staged.v = stage.part(half, half);
    staged.scratch = call.scratch.part(2 * half, call.scratch.bytes - 2 * half);
    return staged;
}

}  // namespace minfer::metal
