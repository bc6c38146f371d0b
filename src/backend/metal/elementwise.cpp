#include "backend/metal/elementwise.h"

#include "backend/metal/kernels/elementwise.h"
#include "backend/metal/ops.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kThreads = 256, kPerThread = 4;

Result<> binary(Context& context, const Pipeline& pipeline, const Slice& a, const Slice& b,
                const Slice& out) {
    const auto count = out.bytes / sizeof(float);
    const auto launch = MINFER_TRY(plan_elementwise(count));
    return context.dispatch(pipeline, launch, {a, b, out},
                            ElementwiseArgs{.count = MINFER_TRY(to_u32("elements", count))});
}

Result<> run_binary(Context& context, const Call& call, const Pipeline& pipeline) {
    const auto count = elements(call.node->shape);
    const auto a = MINFER_TRY(context.words_in(call, 0, count));
    const auto b = MINFER_TRY(context.words_in(call, 1, count));
    const auto out = MINFER_TRY(context.words_out(call, count));
    return binary(context, pipeline, a, b, out);
}

}  // namespace

Result<ElementwiseKernels> ElementwiseKernels::build(const Device& device) {
    ElementwiseKernels kernels;
    kernels.add = MINFER_TRY(device.pipeline("add_f32", kThreads));
    kernels.mul = MINFER_TRY(device.pipeline("mul_f32", kThreads));
    kernels.silu = MINFER_TRY(device.pipeline("silu_f32", kThreads));
    kernels.swiglu = MINFER_TRY(device.pipeline("swiglu_f32", kThreads));
    return kernels;
}

Result<Launch> plan_elementwise(size_t count) {
    const auto n = MINFER_TRY(to_u32("elements", count));
    return Launch{.groups = {.x = ceil_div(n, kThreads * kPerThread)}, .threads = {.x = kThreads}};
}

Result<> swiglu(Context& context, const Slice& gate, const Slice& up, const Slice& out) {
    return binary(context, context.kernels.elementwise.swiglu, gate, up, out);
}

Result<> run(Context& context, const Call& call, const op::Add&) {
    return run_binary(context, call, context.kernels.elementwise.add);
}

Result<> run(Context& context, const Call& call, const op::Mul&) {
    return run_binary(context, call, context.kernels.elementwise.mul);
}

Result<> run(Context& context, const Call& call, const op::SwiGlu&) {
    return run_binary(context, call, context.kernels.elementwise.swiglu);
}

Result<> run(Context& context, const Call& call, const op::Silu&) {
    const auto count = elements(call.node->shape);
    const auto x = MINFER_TRY(context.words_in(call, 0, count));
    const auto out = MINFER_TRY(context.words_out(call, count));
    const auto launch = MINFER_TRY(plan_elementwise(count));
    return context.dispatch(context.kernels.elementwise.silu, launch, {x, out},
                            ElementwiseArgs{.count = MINFER_TRY(to_u32("elements", count))});
}

}  // namespace minfer::metal
