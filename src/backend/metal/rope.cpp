#include "backend/metal/rope.h"

#include <cstring>

#include "backend/metal/kernels/rope.h"
#include "backend/metal/ops.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kThreads = 256;

}  // namespace

Result<RopeKernels> RopeKernels::build(const Device& device) {
    RopeKernels kernels;
    kernels.half_split = MINFER_TRY(device.pipeline("rope_f32", kThreads));
    kernels.interleaved = MINFER_TRY(device.pipeline("rope_interleaved_f32", kThreads));
    return kernels;
}

Result<Slice> InvFreq::of(Context& context, const op::Rope& rope) {
    const auto bytes = rope.head_dim / 2 * sizeof(float);
    for (const auto& entry : entries_)
        if (entry.freq_base == rope.freq_base && entry.freq_scale == rope.freq_scale &&
            entry.head_dim == rope.head_dim)
            return entry.slice;
    const auto id =
        MINFER_TRY(context.pool.alloc(bytes, true, context.weights.bytes(), context.budget_bytes));
    const auto slice = context.pool.slice({.backend = BackendId::Metal, .id = id, .bytes = bytes});
    std::memcpy(slice.host(), rope_inv_freq(rope).data(), bytes);
    entries_.push_back({.freq_base = rope.freq_base,
                        .freq_scale = rope.freq_scale,
                        .head_dim = rope.head_dim,
                        .slice = slice});
    return slice;
}

uint32_t rope_heads_per_thread(size_t n_tokens) { return n_tokens < 16 ? 1 : 4; }

Result<Launch> plan_rope(size_t n_tokens, size_t n_head, size_t head_dim) {
    const auto fours = (head_dim / 2 + 3) / 4;
    const auto per_thread = size_t{rope_heads_per_thread(n_tokens)};
    const auto threads =
        MINFER_TRY(to_u32("threads", n_tokens * ceil_div(n_head, per_thread) * fours));
    return Launch{.groups = {.x = ceil_div(threads, kThreads)}, .threads = {.x = kThreads}};
}

Result<> rotate(Context& context, const op::Rope& rope, const Slice& x, const Slice& positions,
                const Slice& out, size_t n_tokens) {
    const auto inv_freq = MINFER_TRY(context.inv_freq.of(context, rope));
    const auto launch = MINFER_TRY(plan_rope(n_tokens, rope.n_head, rope.head_dim));
    // Kernels find a head by a product of 32 bits.
    MINFER_TRY(check_u32("elements of a token", rope.n_head * rope.head_dim));
    const auto args = RopeArgs{.n_tokens = MINFER_TRY(to_u32("tokens", n_tokens)),
                               .n_head = MINFER_TRY(to_u32("heads", rope.n_head)),
                               .head_dim = MINFER_TRY(to_u32("elements of a head", rope.head_dim)),
                               .heads_per_thread = rope_heads_per_thread(n_tokens)};
    return context.dispatch(context.kernels.rope.of(rope.style), launch,
                            {x, positions, inv_freq, out}, args);
}

// The table is made here: what a model takes is taken when it is loaded.
Result<size_t> prepare(Context& context, const Node&, const op::Rope& rope) {
    if (rope.head_dim >= 2) MINFER_TRY(context.inv_freq.of(context, rope));
    return 0;
}

Result<> run(Context& context, const Call& call, const op::Rope& rope) {
    const auto width = rope.n_head * rope.head_dim, count = elements(call.node->shape);
    if (width == 0 || rope.head_dim % 2 != 0 || count == 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements are not rows of {} heads of {} (an even number)",
                    count, rope.n_head, rope.head_dim);
    const auto n_tokens = count / width;
    const auto x = MINFER_TRY(context.words_in(call, 0, count));
    const auto positions = MINFER_TRY(context.ints_in(call, 1, n_tokens));
    for (size_t t = 0; t < n_tokens; ++t)
        if (positions[t] < 0)
            return fail(Fault::BadInput, "position {} of token {} is negative", positions[t], t);
    const auto out = MINFER_TRY(context.words_out(call, count));
    return rotate(context, rope, x, context.pool.slice(call.in[1]), out, n_tokens);
}

}  // namespace minfer::metal
