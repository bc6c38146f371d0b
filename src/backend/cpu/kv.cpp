#include "backend/cpu/kv.h"

#include <cstring>
#include <utility>

#include "backend/cpu/ops.h"
#include "tensor/blocks.h"
#include "tensor/quantize_kv.h"

namespace minfer::cpu {
namespace {

// One row of K or V to its cell, padding included.
void store_row(const Kernels& kernels, const KvLayout& layout, const float* row, std::byte* cell) {
    switch (layout.format) {
        case KvFormat::F32:
            std::memcpy(cell, row, layout.row_bytes);
            return;
        case KvFormat::F16:
            kernels.to_f16(row, cell, layout.width);
            return;
        case KvFormat::Q8_0: {
            const auto used = layout.width / kBlockValues * sizeof(BlockQ8_0);
            quantize_kv_row(row, cell, layout.width);
            std::memset(cell + used, 0, layout.row_bytes - used);
            return;
        }
    }
    std::unreachable();
}

}  // namespace

Result<KvCells> kv_cells(const Context& context, const Call& call, const KvUse& use) {
    const auto& layout = use.layout;
    if (layout.format == KvFormat::Q8_0 && layout.width % kBlockValues != 0)
        return fail(Fault::BadInput, "q8_0 cells of {} elements, a multiple of {} is allowed",
                    layout.width, kBlockValues);
    if (layout != kv_layout(layout.format, layout.width))
        return fail(Fault::BadInput, "{} cells of {} elements have {} bytes, not {}",
                    name(layout.format), layout.width,
                    kv_layout(layout.format, layout.width).row_bytes, layout.row_bytes);
    if (!call.kv) return fail(Fault::BadInput, "layer {} has no KV regions", use.layer);
    const auto region_bytes = layout.row_bytes * use.n_ctx;
    if (call.kv->k.bytes < region_bytes || call.kv->v.bytes < region_bytes)
        return fail(Fault::BadInput, "KV regions have {} and {} bytes, {} cells of {} need {}",
                    call.kv->k.bytes, call.kv->v.bytes, use.n_ctx, layout.row_bytes, region_bytes);
    return KvCells{.k = context.pool.view(call.kv->k).data(),
                   .v = context.pool.view(call.kv->v).data()};
}

Result<> run(Context& context, const Call& call, const op::KvStore& store) {
    const auto& layout = store.layout;
    const auto regions = MINFER_TRY(kv_cells(context, call, *op_kv_use(call.node->op)));
    const auto n_tokens = MINFER_TRY(stored_tokens(call, layout.width));
    const auto* const k = MINFER_TRY(context.floats_in(call, 0, n_tokens * layout.width));
    const auto* const v = MINFER_TRY(context.floats_in(call, 1, n_tokens * layout.width));
    const auto* const cells = MINFER_TRY(context.ints_in(call, 2, n_tokens));
    for (size_t t = 0; t < n_tokens; ++t)
        if (cells[t] < 0 || static_cast<size_t>(cells[t]) >= store.n_ctx)
            return fail(Fault::BadInput, "cell {} of token {}, the arena has {} cells", cells[t], t,
                        store.n_ctx);
    for (size_t t = 0; t < n_tokens; ++t) {
        const auto at = static_cast<size_t>(cells[t]) * layout.row_bytes;
        store_row(context.kernels, layout, k + t * layout.width, regions.k + at);
        store_row(context.kernels, layout, v + t * layout.width, regions.v + at);
    }
    return {};
}

}  // namespace minfer::cpu
