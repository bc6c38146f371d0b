#include "backend/metal/matmul.h"

#include <algorithm>
#include <bit>

#include "backend/metal/kernels/add_bias.h"
#include "backend/metal/ops.h"

namespace minfer::metal {
namespace {

// How the kernels of a type share out the work; the other half is in kernels/mul_mv*.metal.
struct MulMvShape {
    DType dtype;
    uint32_t rows;         // of a lane, with one column
    uint32_t block_lanes;  // that share a block
    uint32_t block;        // weights
    uint32_t simdgroups;   // of a threadgroup, at most
    bool splits_k;         // the SIMD groups share rows
};

constexpr MulMvShape kShapes[] = {
    {DType::Q4_0, kMulMvRowsQ32, 2, 32, 2, false}, {DType::Q4_1, kMulMvRowsQ32, 2, 32, 2, false},
    {DType::Q5_0, kMulMvRowsQ32, 2, 32, 2, false}, {DType::Q5_1, kMulMvRowsQ32, 2, 32, 2, false},
    {DType::Q8_0, kMulMvRowsQ8, 4, 32, 4, true},   {DType::Q4_K, kMulMvRowsK, 8, 256, 2, false},
    {DType::Q5_K, kMulMvRowsK, 8, 256, 2, false},  {DType::Q6_K, kMulMvRowsK, 16, 256, 2, false},
    {DType::F16, kMulMvRowsFloat, 1, 8, 4, true},  {DType::BF16, kMulMvRowsFloat, 1, 8, 4, true},
    {DType::F32, kMulMvRowsFloat, 1, 8, 4, true},
};

const MulMvShape* find_shape(DType dtype) {
    const auto* const found = std::ranges::find(kShapes, dtype, &MulMvShape::dtype);
    return found == std::end(kShapes) ? nullptr : found;
}

bool is_float(DType dtype) {
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

Result<> check(const Matrices& matrices, const Slice& x, size_t n_tokens, const Slice& out) {
    MINFER_TRY(check_product(matrices.dtype, matrices.in_dim, matrices.out_dim()));
    MINFER_ASSERT(matrices.count >= 1 && matrices.count <= matrices.weights.size());
    if (matrices.count > 1 && n_tokens != 1)
        return fail(Fault::Unsupported, "{} matrices at once take 1 token, found {}",
                    matrices.count, n_tokens);
    for (size_t i = 0; i < matrices.count; ++i) {
        const auto bytes = row_bytes(matrices.dtype, matrices.in_dim) * matrices.rows[i];
        const auto& slice = matrices.weights[i];
        if (bytes == 0 || slice.bytes != bytes)
            return fail(Fault::BadInput, "{} weights [{}, {}] take {} bytes, found {}",
                        name(matrices.dtype), matrices.in_dim, matrices.rows[i], bytes,
                        slice.bytes);
        if (slice.offset % 4 != 0)
            return fail(Fault::BadInput, "weights at byte {} of their buffer, kernels load words",
                        slice.offset);
    }
    if (n_tokens == 0 || x.bytes != n_tokens * matrices.in_dim * sizeof(float))
        return fail(Fault::BadInput, "activations [{}, {}] take {} bytes, found {}",
                    matrices.in_dim, n_tokens, n_tokens * matrices.in_dim * sizeof(float), x.bytes);
    if (out.bytes != n_tokens * matrices.out_dim() * sizeof(float))
        return fail(Fault::BadInput, "products [{}, {}] take {} bytes, found {}",
                    matrices.out_dim(), n_tokens, n_tokens * matrices.out_dim() * sizeof(float),
                    out.bytes);
    return {};
}

Result<> mul_mv(Context& context, const Matrices& matrices, const Slice& x, size_t n_tokens,
                const Slice& out, MatmulTier tier) {
    const auto plan = MINFER_TRY(plan_mul_mv(matrices, n_tokens, tier));
    const auto& kernels = context.kernels.matmul.at(matrices.dtype);
    const auto& w = matrices.weights;
    return context.dispatch(
        kernels.mul_mv[plan.columns - 1], plan.launch,
        {w[0], w[matrices.count > 1 ? 1 : 0], w[matrices.count > 2 ? 2 : 0], x, out}, plan.args);
}

}  // namespace

Result<> check_product(DType dtype, size_t in_dim, size_t out_dim) {
    if (!runs_as_weight(dtype))
        return fail(Fault::Unsupported,
                    "no kernel multiplies weights of type {}; mul_mv_q4_0 would take them for "
                    "something else",
                    name(dtype));
    const auto block = info(dtype).block_values;
    if (in_dim == 0 || in_dim % block != 0)
        return fail(Fault::BadInput, "rows of {} weights, {} needs multiples of {}", in_dim,
                    name(dtype), block);
    MINFER_TRY(check_u32("weights of a row", in_dim));
    MINFER_TRY(check_u32("bytes of a row", row_bytes(dtype, in_dim)));
    MINFER_TRY(check_u32("rows of weights", out_dim));
    return {};
}

bool runs_as_weight(DType dtype) { return find_shape(dtype) != nullptr; }

MatmulTier matmul_tier(DType dtype, size_t out_dim, size_t n_tokens, const MetalOptions& options) {
    if (n_tokens == 1) return MatmulTier::Single;
    if (n_tokens <= 8 && options.multi_column) return MatmulTier::MultiColumn;
    const bool has_gemm = options.gemm && (options.float_gemm || !is_float(dtype));
    const bool large = out_dim >= 2048 || n_tokens >= 9;
    return has_gemm && large ? MatmulTier::Gemm : MatmulTier::Multi;
}

Result<MatmulKernels> MatmulKernels::build(const Device& device, DType dtype) {
    MatmulKernels kernels;
    const auto base = MINFER_TRY(weight_kernel_name("mul_mv", dtype));
    const auto threads = find_shape(dtype)->simdgroups * kSimdWidth;
    kernels.mul_mv[0] = MINFER_TRY(device.pipeline(base, threads));
    for (size_t columns = 2; columns <= kernels.mul_mv.size(); ++columns)
        kernels.mul_mv[columns - 1] =
            MINFER_TRY(device.pipeline(fmt::format("{}_{}", base, columns), threads));
    return kernels;
}

Result<MulMvPlan> plan_mul_mv(const Matrices& matrices, size_t n_tokens, MatmulTier tier) {
    MINFER_ASSERT(tier != MatmulTier::Gemm);
    const auto* const shape = find_shape(matrices.dtype);
    MINFER_ASSERT(shape != nullptr);
    const auto in_dim = MINFER_TRY(to_u32("weights of a row", matrices.in_dim));
    const auto tokens = MINFER_TRY(to_u32("tokens", n_tokens));

    // Parts of a row that lanes work on side by side. A short row leaves lanes for other rows, and
    // SIMD groups join where each has two rounds to go.
    const auto parts = ceil_div(in_dim, shape->block) * shape->block_lanes;
    const auto lanes = std::min(std::bit_ceil(parts), kSimdWidth);
    const auto simdgroups = shape->splits_k
                                ? std::min(ceil_div(parts, 2 * kSimdWidth), shape->simdgroups)
                                : shape->simdgroups;

    MulMvPlan plan;
    const auto passes = tier == MatmulTier::MultiColumn ? ceil_div(tokens, 4U) : 1;
    if (tier == MatmulTier::MultiColumn) plan.columns = ceil_div(tokens, passes);
    const uint32_t rows = plan.columns == 1 ? shape->rows : uint32_t{kMulMvRowsColumns};
    const auto rows_per_group =
        kSimdWidth / lanes * rows * (shape->splits_k ? 1 : shape->simdgroups);

    uint32_t groups = 0;
    std::array<uint32_t, 3> last{};
    for (size_t i = 0; i < last.size(); ++i)
        last[i] = groups += ceil_div(matrices.rows[i], rows_per_group);
    plan.args = {
        .rows = {matrices.rows[0], matrices.rows[1], matrices.rows[2]},
        .last_group = {last[0], last[1]},
        .rows_per_group = rows_per_group,
        .in_dim = in_dim,
        .n_tokens = tokens,
        .out_dim = MINFER_TRY(to_u32("rows of weights", matrices.out_dim())),
        .row_bytes = MINFER_TRY(to_u32("bytes of a row", row_bytes(matrices.dtype, in_dim))),
        .lanes = lanes,
        .passes = passes};
    const auto all_groups = MINFER_TRY(to_u32("threadgroups", size_t{groups} * passes));
    plan.launch = {.groups = {.x = all_groups}, .threads = {.x = simdgroups * kSimdWidth}};
    return plan;
}

Result<Launch> plan_add_bias(size_t n_rows, size_t width) {
    const auto across = ceil_div(MINFER_TRY(to_u32("elements of a row", width)), kAddBiasThreads);
    return Launch{.groups = {.x = MINFER_TRY(to_u32("rows", n_rows)), .y = across},
                  .threads = {.x = kAddBiasThreads}};
}

Result<> add_bias(Context& context, const Slice& rows, const Slice& bias, size_t n_rows,
                  size_t width) {
    if (rows.bytes != n_rows * width * sizeof(float) || bias.bytes != width * sizeof(float))
        return fail(Fault::BadInput, "a bias of {} bytes for {} rows of {} in {} bytes", bias.bytes,
                    n_rows, width, rows.bytes);
    const auto launch = MINFER_TRY(plan_add_bias(n_rows, width));
    return context.dispatch(context.kernels.add_bias, launch, {rows, bias},
                            AddBiasArgs{.width = MINFER_TRY(to_u32("elements of a row", width))});
}

Result<> matmul(Context& context, const Matrices& matrices, const Slice& x, size_t n_tokens,
                const Slice& out) {
    MINFER_TRY(check(matrices, x, n_tokens, out));
    const auto tier = matmul_tier(matrices.dtype, matrices.out_dim(), n_tokens, context.options);
    if (tier == MatmulTier::Gemm) return gemm(context, matrices, x, n_tokens, out);
    return mul_mv(context, matrices, x, n_tokens, out, tier);
}

Result<size_t> prepare(Context& context, const Node&, const op::MatMul& op) {
    MINFER_TRY(context.prepare_matrix(op.dtype));
    return 0;
}

Result<> run(Context& context, const Call& call, const op::MatMul& op) {
    MINFER_TRY(check_product(op.dtype, op.in_dim, op.out_dim));
    const auto n_tokens = call.node->shape[1];
    const auto x = MINFER_TRY(context.words_in(call, 0, n_tokens * op.in_dim));
    const auto out = MINFER_TRY(context.words_out(call, n_tokens * op.out_dim));
    const auto weight = MINFER_TRY(context.matrix_weight(call, 0, op.dtype, op.in_dim, op.out_dim));
    const auto matrices = Matrices{.dtype = op.dtype,
                                   .in_dim = op.in_dim,
                                   .weights = {weight},
                                   .rows = {MINFER_TRY(to_u32("rows of weights", op.out_dim))},
                                   .count = 1};
    if (op.bias.empty()) return matmul(context, matrices, x, n_tokens, out);
    const auto bias = MINFER_TRY(context.vector_weight(call, 1, op.out_dim));
    MINFER_TRY(matmul(context, matrices, x, n_tokens, out));
    return add_bias(context, out, bias, n_tokens, op.out_dim);
}

}  // namespace minfer::metal
