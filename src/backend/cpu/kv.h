#pragma once
// What every operation on a layer's KV regions checks first.

#include "backend/cpu/context.h"
#include "graph/op.h"

namespace minfer::cpu {

// Cell 0 of a layer's regions.
struct KvCells {
    std::byte* k;
    std::byte* v;
};

// BadInput when the call has no regions, they are smaller than n_ctx cells, or the layout is not
// that of kv_layout().
Result<KvCells> kv_cells(const Context& context, const Call& call, const KvUse& use);

}  // namespace minfer::cpu
