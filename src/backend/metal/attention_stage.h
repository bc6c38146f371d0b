#pragma once
// Packed cells expanded to f32 before a family of kernels that reads f32 cells.

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"
#include "graph/attn_window.h"

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

// A dispatch for each.
constexpr size_t kMostStageRanges = 16;

// The cells to expand for tiles over these windows, in order, at most kMostStageRanges ranges: the
// blocks of kPrefillCells cells, counted from `seen.first`, in which any token sees a cell, whole
// but for the end of the last one, as that is how tiles read them. Where there are more ranges the
// narrowest gaps between them are expanded too. Pure.
std::vector<CellExtent> stage_ranges(WindowKind kind, std::span<const int32_t> windows,
                                     size_t n_tokens, const CellExtent& seen);

// The same attention over the cells it sees as f32, in the first part of its scratch; the rest of
// that is the family's.
Result<AttentionCall> stage_cells(Context& context, const AttentionCall& call);

}  // namespace minfer::metal
