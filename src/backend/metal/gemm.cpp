#include "backend/metal/gemm.h"

#include "backend/metal/context.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kWide = 32, kNarrow = 16;  // tokens of a tile

uint32_t element_bytes(GemmTile tile) { return tile == GemmTile::Half ? 2 : 4; }

}  // namespace

GemmTile gemm_tile(DType dtype, const MetalOptions& options) {
    const bool wide_range = dtype == DType::BF16 || dtype == DType::F32;
    return wide_range || options.gemm_f32_tiles ? GemmTile::Float : GemmTile::Half;
}

Result<GemmKernels> GemmKernels::build(const Device& device, DType dtype,
                                       const MetalOptions& options) {
    const auto family = MINFER_TRY(weight_kernel_name("mul_mm", dtype));
    const auto tile = gemm_tile(dtype, options);
    const auto build = [&](uint32_t tokens) {
        return device.pipeline(
            fmt::format("{}_{}_{}", family, tile == GemmTile::Half ? "half" : "float", tokens),
            kMulMmThreads, mul_mm_shared_bytes(tokens, element_bytes(tile)));
    };
    GemmKernels kernels;
    kernels.wide = MINFER_TRY(build(kWide));
    kernels.narrow = MINFER_TRY(build(kNarrow));
    return kernels;
}

Result<GemmPlan> plan_gemm(DType dtype, size_t in_dim, size_t out_dim, size_t n_tokens,
                           GemmTile tile) {
    const bool narrow = n_tokens <= kNarrow;
    const auto tokens = narrow ? kNarrow : kWide;
    const auto args =
        MulMmArgs{.in_dim = MINFER_TRY(to_u32("weights of a row", in_dim)),
                  .out_dim = MINFER_TRY(to_u32("rows of weights", out_dim)),
                  .n_tokens = MINFER_TRY(to_u32("tokens", n_tokens)),
                  .row_bytes = MINFER_TRY(to_u32("bytes of a row", row_bytes(dtype, in_dim)))};
    return GemmPlan{.launch = {.groups = {.x = ceil_div(args.n_tokens, tokens),
                                          .y = ceil_div(args.out_dim, uint32_t{kMulMmRows})},
                               .threads = {.x = kMulMmThreads},
                               .shared_bytes = mul_mm_shared_bytes(tokens, element_bytes(tile))},
                    .args = args,
                    .narrow = narrow};
}

Result<> gemm(Context& context, const Matrices& matrices, const Slice& x, size_t n_tokens,
              const Slice& out) {
    MINFER_ASSERT(matrices.count == 1);
    const auto plan = MINFER_TRY(plan_gemm(matrices.dtype, matrices.in_dim, matrices.rows[0],
                                           n_tokens, gemm_tile(matrices.dtype, context.options)));
    const auto& kernels = context.kernels.gemm.at(matrices.dtype);
    return context.dispatch(plan.narrow ? kernels.narrow : kernels.wide, plan.launch,
                            {matrices.weights[0], x, out}, plan.args);
}

}  // namespace minfer::metal
