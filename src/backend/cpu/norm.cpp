// Row by row: RmsNorm, QkNorm, Softmax.

#include "backend/cpu/ops.h"

namespace minfer::cpu {
namespace {

Result<> norm_rows(Context& context, const Call& call, size_t width, float eps) {
    const auto count = elements(call.node->shape);
    if (width == 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements are not rows of {}", count, width);
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, count));
    const auto* const weight = MINFER_TRY(context.vector_weight(call, 0, width));
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    for_rows(context.threads, count / width, width, [&](size_t row, int) {
        context.kernels.rms_norm(x + row * width, weight, eps, out + row * width, width);
    });
    return {};
}

}  // namespace

Result<> run(Context& context, const Call& call, const op::RmsNorm& norm) {
    return norm_rows(context, call, call.node->shape[0], norm.eps);
}

Result<> run(Context& context, const Call& call, const op::QkNorm& norm) {
    return norm_rows(context, call, norm.head_dim, norm.eps);
}

Result<> run(Context& context, const Call& call, const op::Softmax&) {
    const auto count = elements(call.node->shape), width = call.node->shape[0];
    if (count == 0) return {};
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, count));
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    for_rows(context.threads, count / width, width, [&](size_t row, int) {
        context.kernels.softmax(x + row * width, out + row * width, width);
    });
    return {};
}

}  // namespace minfer::cpu
