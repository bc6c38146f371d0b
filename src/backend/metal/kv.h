#pragma once
// KvStore, and what every operation on a layer's regions checks first.

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"
#include "graph/backend.h"

namespace minfer::metal {

struct Context;

struct KvKernels {
    Pipelines<CellType> stores;
};

// Four elements of a row to a thread, or one where blocks are quantised; a column of threadgroups
// for each token: what has no bound goes along x.
Result<Launch> plan_kv_store(CellType type, size_t width, size_t n_tokens);

// BadInput for a layout that is not one of kv_layout(), with blocks of 32 elements in q8_0.
Result<> check_layout(const KvLayout& layout);

// A layer's regions, once layout and sizes are known to fit.
struct KvSlices {
    Slice k, v;
};
// check_layout(); BadInput when there are no regions or they are smaller than n_ctx cells.
Result<KvSlices> kv_regions(const Context& context, const Call& call, const KvUse& use);

// BadInput naming the cell and n_ctx for one past the arena. Kernels do not check: a cell silently
// not written would be worse.
Result<> check_cells(std::span<const int32_t> cells, size_t n_ctx);

}  // namespace minfer::metal
