// Element by element: Add, Mul, Scale, Silu, SwiGlu.

#include "backend/cpu/ops.h"

namespace minfer::cpu {
namespace {

using Binary = void (*)(const float*, const float*, float*, size_t);

Result<> binary(Context& context, const Call& call, Binary kernel) {
    const auto count = elements(call.node->shape);
    const auto* const a = MINFER_TRY(context.floats_in(call, 0, count));
    const auto* const b = MINFER_TRY(context.floats_in(call, 1, count));
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    context.threads.parallel_for(count, kElementChunk, [&](size_t begin, size_t end, int) {
        kernel(a + begin, b + begin, out + begin, end - begin);
    });
    return {};
}

}  // namespace

Result<> run(Context& context, const Call& call, const op::Add&) {
    return binary(context, call, context.kernels.add);
}

Result<> run(Context& context, const Call& call, const op::Mul&) {
    return binary(context, call, context.kernels.mul);
}

Result<> run(Context& context, const Call& call, const op::SwiGlu&) {
    return binary(context, call, context.kernels.swiglu);
}

Result<> run(Context& context, const Call& call, const op::Scale& scale) {
    const auto count = elements(call.node->shape);
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, count));
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    context.threads.parallel_for(count, kElementChunk, [&](size_t begin, size_t end, int) {
        context.kernels.scale(x + begin, scale.factor, out + begin, end - begin);
    });
    return {};
}

Result<> run(Context& context, const Call& call, const op::Silu&) {
    const auto count = elements(call.node->shape);
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, count));
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    context.threads.parallel_for(count, kElementChunk, [&](size_t begin, size_t end, int) {
        context.kernels.silu(x + begin, out + begin, end - begin);
    });
    return {};
}

}  // namespace minfer::cpu
