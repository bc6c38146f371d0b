#pragma once
// Packed cells expanded to f32 before a family of kernels that reads f32 cells.

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"

namespace minfer::metal {

struct AttentionCall;
struct AttentionShape;
struct Context;

struct CellStage {
    Pipelines<CellType> pipelines;

    // Returns the scratch in bytes: every cell of the arena, of K and of V.
    Result<size_t> prepare(Device& device, const AttentionShape& shape);
};

// Four elements a thread, for each of these cells of K and V.
Result<Launch> plan_stage(size_t cell_width, size_t n_cells);

// The same attention over the cells it sees as f32, in the first part of its scratch; the rest of
// that is the family's.
Result<AttentionCall> stage_cells(Context& context, const AttentionCall& call);

}  // namespace minfer::metal
