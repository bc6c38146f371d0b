#include "backend/metal/norm.h"

#include "backend/metal/kernels/norm.h"
#include "backend/metal/ops.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kHeadsPerGroup = 8;
// All three: that of SIMD groups runs heads as well, eight of them to a threadgroup.
constexpr uint32_t kMaxThreads = 256;
static_assert(kHeadsPerGroup * kSimdWidth <= kMaxThreads);

struct Rows {
    Slice x, weight, out;
    size_t width, count;
};

Result<Rows> rows_of(const Context& context, const Call& call, const std::string& weight,
                     size_t width) {
    if (weight.empty()) return fail(Fault::NotFound, "the node names no weight");
    const auto count = elements(call.node->shape);
    if (width == 0 || count == 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements are not rows of {}", count, width);
    const auto gain = MINFER_TRY(context.vector_weight(call, 0, width));
    const auto x = MINFER_TRY(context.words_in(call, 0, count));
    const auto out = MINFER_TRY(context.words_out(call, count));
    return Rows{.x = x, .weight = gain, .out = out, .width = width, .count = count / width};
}

Result<NormArgs> args(size_t width, size_t rows, float eps) {
    return NormArgs{.width = MINFER_TRY(to_u32("a width", width)),
                    .rows = MINFER_TRY(to_u32("rows", rows)),
                    .eps = eps};
}

}  // namespace

Result<NormKernels> NormKernels::build(const Device& device) {
    NormKernels kernels;
    kernels.threads_256 = MINFER_TRY(device.pipeline("rms_norm_256", kMaxThreads));
    kernels.threads_32 = MINFER_TRY(device.pipeline("rms_norm_32", kMaxThreads));
    kernels.heads = MINFER_TRY(device.pipeline("rms_norm_heads", kMaxThreads));
    return kernels;
}

Result<Launch> plan_rms_norm_256(size_t rows) {
    return Launch{.groups = {.x = MINFER_TRY(to_u32("rows", rows))}, .threads = {.x = 256}};
}

Result<Launch> plan_rms_norm_32(size_t rows) {
    return Launch{.groups = {.x = MINFER_TRY(to_u32("rows", rows))}, .threads = {.x = kSimdWidth}};
}

Result<Launch> plan_norm_heads(size_t rows) {
    const auto n = MINFER_TRY(to_u32("rows", rows));
    return Launch{.groups = {.x = ceil_div(n, kHeadsPerGroup)},
                  .threads = {.x = kSimdWidth * kHeadsPerGroup}};
}

Result<> norm_heads(Context& context, const Slice& x, const Slice& weight, const Slice& out,
                    size_t head_dim, float eps) {
    const auto& kernels = context.kernels.norm;
    const auto rows = x.bytes / sizeof(float) / head_dim;
    const auto launch = MINFER_TRY(plan_norm_heads(rows));
    const auto numbers = MINFER_TRY(args(head_dim, rows, eps));
    return context.dispatch(head_dim < kShortRow ? kernels.heads : kernels.threads_32, launch,
                            {x, weight, out}, numbers);
}

Result<> run(Context& context, const Call& call, const op::RmsNorm& norm) {
    const auto rows = MINFER_TRY(rows_of(context, call, norm.weight, call.node->shape[0]));
    const auto& kernels = context.kernels.norm;
    const bool wide = context.options.rms_norm_256;
    const auto launch =
        MINFER_TRY(wide ? plan_rms_norm_256(rows.count) : plan_rms_norm_32(rows.count));
    const auto numbers = MINFER_TRY(args(rows.width, rows.count, norm.eps));
    return context.dispatch(wide ? kernels.threads_256 : kernels.threads_32, launch,
                            {rows.x, rows.weight, rows.out}, numbers);
}

Result<> run(Context& context, const Call& call, const op::QkNorm& norm) {
    const auto rows = MINFER_TRY(rows_of(context, call, norm.weight, norm.head_dim));
    return norm_heads(context, rows.x, rows.weight, rows.out, rows.width, norm.eps);
}

}  // namespace minfer::metal
