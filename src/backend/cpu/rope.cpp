// Rotary position embedding.

#include "backend/cpu/ops.h"

namespace minfer::cpu {
namespace {

void rotate_interleaved(const float* x, const float* cosine, const float* sine, float* out,
                        size_t half) {
    for (size_t i = 0; i < half; ++i) {
        const float a = x[2 * i], b = x[2 * i + 1];
        out[2 * i] = a * cosine[i] - b * sine[i];
        out[2 * i + 1] = a * sine[i] + b * cosine[i];
    }
}

}  // namespace

Result<> run(Context& context, const Call& call, const op::Rope& rope) {
    const auto width = rope.n_head * rope.head_dim, count = elements(call.node->shape);
    if (width == 0 || rope.head_dim % 2 != 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements are not rows of {} heads of {} (an even number)",
                    count, rope.n_head, rope.head_dim);
    const auto n_tokens = count / width, half = rope.head_dim / 2;
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, count));
    const auto* const positions = MINFER_TRY(context.ints_in(call, 1, n_tokens));
    auto* const out = MINFER_TRY(context.floats_out(call, count));
    for (size_t t = 0; t < n_tokens; ++t)
        if (positions[t] < 0)
            return fail(Fault::BadInput, "position {} of token {} is negative", positions[t], t);
    const auto angles = context.rope.angles(rope, {positions, n_tokens}, context.threads);
    const auto rotate =
        rope.style == op::RopeStyle::Interleaved ? rotate_interleaved : context.kernels.rope;
    for_rows(context.threads, n_tokens, width, [&](size_t t, int) {
        for (size_t at = t * width; at < (t + 1) * width; at += rope.head_dim)
            rotate(x + at, angles.cosine + t * half, angles.sine + t * half, out + at, half);
    });
    return {};
}

}  // namespace minfer::cpu
