#include "backend/metal/fused.h"

#include <numeric>

#include "backend/metal/kernels/fused.h"
#include "backend/metal/kv.h"
#include "backend/metal/matmul.h"
#include "backend/metal/norm.h"
#include "backend/metal/ops.h"
#include "backend/metal/rope.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kThreads = 256;

// Needs no weight, so that it comes before any is looked up.
Result<> check_one_token(const Call& call, size_t in_dim) {
    const auto in_rows =
        call.in.empty() || in_dim == 0 ? 0 : call.in[0].bytes / sizeof(float) / in_dim;
    const auto& shape = call.node->shape;
    if (in_rows == 1 && elements(shape) == shape[0]) return {};
    return fail(Fault::BadInput, "a fused decode node takes 1 token, found {} and an output of {}",
                in_rows, shape_text(shape));
}

// The call's first weights: one matrix for each height, or one that holds all the rows.
Result<Matrices> matrices_of(Context& context, const Call& call, size_t n_weights, DType dtype,
                             size_t in_dim, std::span<const size_t> heights) {
    const auto all_rows = std::accumulate(heights.begin(), heights.end(), size_t{0});
    MINFER_TRY(check_product(dtype, in_dim, all_rows));
    if (n_weights != 1 && n_weights != heights.size())
        return fail(Fault::BadInput, "{} weights, 1 or {} are allowed", n_weights, heights.size());
    auto matrices = Matrices{.dtype = dtype, .in_dim = in_dim, .count = n_weights};
    for (size_t i = 0; i < n_weights; ++i)
        matrices.rows[i] =
            MINFER_TRY(to_u32("rows of weights", n_weights == 1 ? all_rows : heights[i]));
    for (size_t i = 0; i < n_weights; ++i)
        matrices.weights[i] =
            MINFER_TRY(context.matrix_weight(call, i, dtype, in_dim, matrices.rows[i]));
    return matrices;
}

// What both projections take, checked.
struct Projection {
    const Pipeline* rope_store = nullptr;
    KvSlices regions;
    Slice x, positions, cells, out, inv_freq;
    Matrices matrices;
};

op::Rope rotation_of(const op::QkvProjection& qkv) {
    return {.style = qkv.style,
            .freq_base = qkv.freq_base,
            .freq_scale = qkv.freq_scale,
            .n_head = qkv.n_head,
            .head_dim = qkv.head_dim};
}

FusedKernels::Variant variant_of(const Context& context, const op::QkvProjection& qkv,
                                 bool has_biases) {
    return {.cells = cell_type(qkv.layout.format, context.options.attention),
            .style = qkv.style,
            .has_biases = has_biases};
}

Result<> check_geometry(const op::QkvProjection& qkv) {
    if (qkv.n_head == 0 || qkv.n_head_kv == 0 || qkv.n_head % qkv.n_head_kv != 0 ||
        qkv.head_dim == 0 || qkv.head_dim % 2 != 0)
        return fail(Fault::BadInput, "{} query heads and {} KV heads of {} (an even number)",
                    qkv.n_head, qkv.n_head_kv, qkv.head_dim);
    if (qkv.layout.width != qkv.kv_width())
        return fail(Fault::BadInput, "cells of {} elements, {} KV heads of {} need {}",
                    qkv.layout.width, qkv.n_head_kv, qkv.head_dim, qkv.kv_width());
    return check_layout(qkv.layout);
}

Result<size_t> prepare_projection(Context& context, const op::QkvProjection& qkv, bool has_biases) {
    MINFER_TRY(check_geometry(qkv));
    MINFER_TRY(context.prepare_matrix(qkv.dtype));
    const auto variant = variant_of(context, qkv, has_biases);
    if (is_packed(variant.cells))
        return fail(Fault::Unsupported,
                    "a fused projection stores f32 or f16 cells, not {}: separate nodes do",
                    minfer::name(qkv.layout.format));
    const auto kernel = fmt::format("attn_{}rope_store_{}{}", has_biases ? "bias_" : "",
                                    qkv.style == op::RopeStyle::Interleaved ? "interleaved_" : "",
                                    name(variant.cells));
    const auto launch = MINFER_TRY(plan_rope_store(qkv.n_head, qkv.n_head_kv, qkv.head_dim));
    MINFER_TRY(context.kernels.fused.rope_stores.build(*context.device, variant, kernel, launch));
    MINFER_TRY(context.inv_freq.of(context, rotation_of(qkv)));
    return 0;
}

Result<Projection> projection_of(Context& context, const Call& call, const op::QkvProjection& qkv,
                                 bool has_biases) {
    MINFER_TRY(check_one_token(call, qkv.in_dim));
    MINFER_TRY(check_geometry(qkv));
    const auto* const rope_store =
        MINFER_TRY(context.kernels.fused.rope_stores.find(variant_of(context, qkv, has_biases)));
    const auto regions = MINFER_TRY(kv_regions(context, call, *op_kv_use(call.node->op)));
    const auto x = MINFER_TRY(context.words_in(call, 0, qkv.in_dim));
    const auto out = MINFER_TRY(context.words_out(call, qkv.q_width() + 2 * qkv.kv_width()));
    const auto positions = MINFER_TRY(context.ints_in(call, 1, 1));
    if (positions[0] < 0)
        return fail(Fault::BadInput, "position {} of token 0 is negative", positions[0]);
    const auto cells = MINFER_TRY(context.ints_in(call, 2, 1));
    MINFER_TRY(check_cells(cells, qkv.n_ctx));
    const size_t heights[] = {qkv.q_width(), qkv.kv_width(), qkv.kv_width()};
    const auto matrices =
        MINFER_TRY(matrices_of(context, call, qkv.weights.size(), qkv.dtype, qkv.in_dim, heights));
    const auto inv_freq = MINFER_TRY(context.inv_freq.of(context, rotation_of(qkv)));
    return Projection{.rope_store = rope_store,
                      .regions = regions,
                      .x = x,
                      .positions = context.pool.slice(call.in[1]),
                      .cells = context.pool.slice(call.in[2]),
                      .out = out,
                      .inv_freq = inv_freq,
                      .matrices = matrices};
}

Result<RopeStoreArgs> args_of(const op::QkvProjection& qkv) {
    return RopeStoreArgs{.n_head = MINFER_TRY(to_u32("heads", qkv.n_head)),
                         .n_head_kv = MINFER_TRY(to_u32("KV heads", qkv.n_head_kv)),
                         .head_dim = MINFER_TRY(to_u32("elements of a head", qkv.head_dim)),
                         .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", qkv.layout.row_bytes))};
}

}  // namespace

Result<Launch> plan_rope_store(size_t n_head, size_t n_head_kv, size_t head_dim) {
    const auto rotating = (n_head + n_head_kv) * ((head_dim / 2 + 3) / 4);
    const auto storing = (n_head_kv * head_dim + 3) / 4;
    const auto threads = MINFER_TRY(to_u32("threads", rotating + storing));
    return Launch{.groups = {.x = ceil_div(threads, kThreads)}, .threads = {.x = kThreads}};
}

Result<size_t> prepare(Context& context, const Node&, const op::FusedQkv& fused) {
    return prepare_projection(context, fused.qkv, true);
}

Result<size_t> prepare(Context& context, const Node&, const op::FusedQkvNorm& fused) {
    return prepare_projection(context, fused.qkv, false);
}

Result<size_t> prepare(Context& context, const Node&, const op::FusedFfn& ffn) {
    MINFER_TRY(context.prepare_matrix(ffn.dtype));
    return 0;
}

Result<> run(Context& context, const Call& call, const op::FusedQkv& fused) {
    const auto& qkv = fused.qkv;
    const auto at = MINFER_TRY(projection_of(context, call, qkv, true));
    const auto first = qkv.weights.size();
    const auto q_bias = MINFER_TRY(context.vector_weight(call, first, qkv.q_width()));
    const auto k_bias = MINFER_TRY(context.vector_weight(call, first + 1, qkv.kv_width()));
    const auto v_bias = MINFER_TRY(context.vector_weight(call, first + 2, qkv.kv_width()));

    const auto launch = MINFER_TRY(plan_rope_store(qkv.n_head, qkv.n_head_kv, qkv.head_dim));
    const auto args = MINFER_TRY(args_of(qkv));

    MINFER_TRY(matmul(context, at.matrices, at.x, 1, at.out));
    return context.dispatch(*at.rope_store, launch,
                            {at.out, q_bias, k_bias, v_bias, at.inv_freq, at.positions, at.cells,
                             at.regions.k, at.regions.v},
                            args);
}

Result<> run(Context& context, const Call& call, const op::FusedQkvNorm& fused) {
    const auto& qkv = fused.qkv;
    const auto at = MINFER_TRY(projection_of(context, call, qkv, false));
    const auto first = qkv.weights.size();
    const auto q_norm = MINFER_TRY(context.vector_weight(call, first, qkv.head_dim));
    const auto k_norm = MINFER_TRY(context.vector_weight(call, first + 1, qkv.head_dim));
    const auto launch = MINFER_TRY(plan_rope_store(qkv.n_head, qkv.n_head_kv, qkv.head_dim));
    const auto args = MINFER_TRY(args_of(qkv));

    MINFER_TRY(matmul(context, at.matrices, at.x, 1, at.out));
    const auto q_bytes = qkv.q_width() * sizeof(float), k_bytes = qkv.kv_width() * sizeof(float);
    const auto q = at.out.part(0, q_bytes), k = at.out.part(q_bytes, k_bytes);
    MINFER_TRY(norm_heads(context, q, q_norm, q, qkv.head_dim, fused.eps));
    MINFER_TRY(norm_heads(context, k, k_norm, k, qkv.head_dim, fused.eps));
    return context.dispatch(
        *at.rope_store, launch,
        {at.out, at.inv_freq, at.positions, at.cells, at.regions.k, at.regions.v}, args);
}

Result<> run(Context& context, const Call& call, const op::FusedFfn& ffn) {
    MINFER_TRY(check_one_token(call, ffn.in_dim));
    const auto x = MINFER_TRY(context.words_in(call, 0, ffn.in_dim));
    const auto out = MINFER_TRY(context.words_out(call, 2 * ffn.width));
    const size_t heights[] = {ffn.width, ffn.width};
    const auto matrices =
        MINFER_TRY(matrices_of(context, call, ffn.weights.size(), ffn.dtype, ffn.in_dim, heights));
    MINFER_TRY(matmul(context, matrices, x, 1, out));
    const auto bytes = ffn.width * sizeof(float);
    const auto gate = out.part(0, bytes), up = out.part(bytes, bytes);
    return swiglu(context, gate, up, gate);
}

}  // namespace minfer::metal
