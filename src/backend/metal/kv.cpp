#include "backend/metal/kv.h"

#include "backend/metal/kernels/kv.h"
#include "backend/metal/ops.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kMaxThreads = 256;

}  // namespace

Result<Launch> plan_kv_store(CellType type, size_t width, size_t n_tokens) {
    const auto elements = MINFER_TRY(to_u32("elements of a row", width));
    const auto needed = is_packed(type) ? elements : ceil_div(elements, 4U);
    const auto threads = threads_of_row(needed, kMaxThreads);
    return Launch{
        .groups = {.x = MINFER_TRY(to_u32("tokens", n_tokens)), .y = ceil_div(needed, threads)},
        .threads = {.x = threads}};
}

Result<> check_layout(const KvLayout& layout) {
    const auto [format, width, row_bytes] = layout;
    if (width == 0) return fail(Fault::BadInput, "cells of no elements");
    if (format == KvFormat::Q8_0 && width % 32 != 0)
        return fail(Fault::BadInput, "q8_0 cells of {} elements, a multiple of 32 is allowed",
                    width);
    if (const auto want = kv_layout(format, width).row_bytes; row_bytes != want)
        return fail(Fault::BadInput, "{} cells of {} elements have {} bytes, not {}",
                    minfer::name(format), width, want, row_bytes);
    return {};
}

Result<KvSlices> kv_regions(const Context& context, const Call& call, const KvUse& use) {
    const auto& layout = use.layout;
    MINFER_TRY(check_layout(layout));
    if (!call.kv) return fail(Fault::BadInput, "layer {} has no KV regions", use.layer);
    const auto region_bytes = layout.row_bytes * use.n_ctx;
    if (call.kv->k.bytes < region_bytes || call.kv->v.bytes < region_bytes)
        return fail(Fault::BadInput, "KV regions have {} and {} bytes, {} cells of {} need {}",
                    call.kv->k.bytes, call.kv->v.bytes, use.n_ctx, layout.row_bytes, region_bytes);
    return KvSlices{.k = context.pool.slice(call.kv->k), .v = context.pool.slice(call.kv->v)};
}

Result<> check_cells(std::span<const int32_t> cells, size_t n_ctx) {
    for (size_t t = 0; t < cells.size(); ++t)
        if (cells[t] < 0 || static_cast<size_t>(cells[t]) >= n_ctx)
            return fail(Fault::BadInput, "cell {} of token {} is outside the arena: n_ctx is {}",
                        cells[t], t, n_ctx);
    return {};
}

Result<size_t> prepare(Context& context, const Node&, const op::KvStore& store) {
    MINFER_TRY(check_layout(store.layout));
    const auto type = cell_type(store.layout.format, context.options.attention);
    const auto launch = MINFER_TRY(plan_kv_store(type, store.layout.width, 1));
    MINFER_TRY(context.kernels.kv.stores.build(*context.device, type,
                                               fmt::format("kv_store_{}", name(type)), launch));
    return 0;
}

Result<> run(Context& context, const Call& call, const op::KvStore& store) {
    const auto regions = MINFER_TRY(kv_regions(context, call, *op_kv_use(call.node->op)));
    const auto width = store.layout.width;
    const auto n_tokens = MINFER_TRY(stored_tokens(call, width));
    const auto k = MINFER_TRY(context.words_in(call, 0, n_tokens * width));
    const auto v = MINFER_TRY(context.words_in(call, 1, n_tokens * width));
    const auto cells = MINFER_TRY(context.ints_in(call, 2, n_tokens));
    MINFER_TRY(check_cells(cells, store.n_ctx));

    const auto type = cell_type(store.layout.format, context.options.attention);
    const auto* const kernel = MINFER_TRY(context.kernels.kv.stores.find(type));
    const auto launch = MINFER_TRY(plan_kv_store(type, width, n_tokens));
    const auto args =
        KvStoreArgs{.width = MINFER_TRY(to_u32("elements of a row", width)),
                    .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", store.layout.row_bytes))};
    const auto cells_slice = context.pool.slice(call.in[2]);
    MINFER_TRY(context.dispatch(*kernel, launch, {k, cells_slice, regions.k}, args));
    return context.dispatch(*kernel, launch, {v, cells_slice, regions.v}, args);
}

}  // namespace minfer::metal
