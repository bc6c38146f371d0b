// KvStore: rows of K and V into the cells of a layer's regions.

#include <cstring>

#include "backend/cpu/ops.h"

namespace minfer::cpu {

Result<> run(Context& context, const Call& call, const op::KvStore& store) {
    const auto& layout = store.layout;
    if (!has_kv_kernels(layout.format) || layout.row_bytes != layout.width * sizeof(float))
        return fail(Fault::Unsupported, "cells of format {} and {} bytes, f32 cells of {} run",
                    static_cast<int>(layout.format), layout.row_bytes,
                    layout.width * sizeof(float));
    if (!call.kv) return fail(Fault::BadInput, "layer {} has no KV regions", store.layer);
    const auto region_bytes = layout.row_bytes * store.n_ctx;
    if (call.kv->k.bytes < region_bytes || call.kv->v.bytes < region_bytes)
        return fail(Fault::BadInput, "KV regions have {} and {} bytes, {} cells of {} need {}",
                    call.kv->k.bytes, call.kv->v.bytes, store.n_ctx, layout.row_bytes,
                    region_bytes);
    const auto n_tokens = call.in.size() > 2 ? call.in[2].bytes / sizeof(int32_t) : 0;
    const auto* const k = MINFER_TRY(context.floats_in(call, 0, n_tokens * layout.width));
    const auto* const v = MINFER_TRY(context.floats_in(call, 1, n_tokens * layout.width));
    const auto* const cells = MINFER_TRY(context.ints_in(call, 2, n_tokens));
    for (size_t t = 0; t < n_tokens; ++t)
        if (cells[t] < 0 || static_cast<size_t>(cells[t]) >= store.n_ctx)
            return fail(Fault::BadInput, "cell {} of token {}, the arena has {} cells", cells[t], t,
                        store.n_ctx);
    auto* const k_region = context.pool.view(call.kv->k).data();
    auto* const v_region = context.pool.view(call.kv->v).data();
    for (size_t t = 0; t < n_tokens; ++t) {
        const auto at = static_cast<size_t>(cells[t]) * layout.row_bytes;
        std::memcpy(k_region + at, k + t * layout.width, layout.row_bytes);
        std::memcpy(v_region + at, v + t * layout.width, layout.row_bytes);
    }
    return {};
}

}  // namespace minfer::cpu
