#pragma once
// KvStore, and what every operation on a layer's regions checks first.

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"
#include "graph/backend.h"

namespace minfer::metal {

struct Context;

struct KvKernels {
    Pipeline store_f32;
    static Result<KvKernels> build(const Device& device);
};

// Four elements of a row to a thread, a row of threadgroups for each token.
Result<Launch> plan_kv_store(size_t width, size_t n_tokens);

// A layer's regions, once format and sizes are known to fit.
struct KvSlices {
    Slice k, v;
};
// BadInput when there are no regions, they are smaller than n_ctx cells, or the layout is not that
// of kv_layout().
Result<KvSlices> kv_regions(const Context& context, const Call& call, const KvUse& use);

// Unsupported for a format that no kernel stores.
Result<> check_stores(KvFormat format);

// BadInput naming the cell and n_ctx for one past the arena. Kernels do not check: a cell silently
// not written would be worse.
Result<> check_cells(std::span<const int32_t> cells, size_t n_ctx);

}  // namespace minfer::metal
