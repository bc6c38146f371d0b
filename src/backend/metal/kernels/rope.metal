// Rotary position embedding: pair i at position p is turned by the f32 product p * inv_freq[i]. In
// place as well: a thread reads only what it writes.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "rope.h"
#include "rotation.h"
using namespace metal;

// Four pairs of some heads of one token to a thread.
template <bool kInterleaved>
kernel void rope(device const float* x [[buffer(0)]],
                 device const int* positions [[buffer(1)]],
                 device const float* inv_freq [[buffer(2)]],
                 device float* out [[buffer(3)]],
                 constant RopeArgs& args [[buffer(4)]],
                 uint thread_index [[thread_position_in_grid]]) {
    using Heads = PairLayout<kInterleaved>;
    const uint half_dim = args.head_dim / 2, fours = (half_dim + 3) / 4;
    const uint head_groups = (args.n_head + args.heads_per_thread - 1) / args.heads_per_thread;
    const uint token = thread_index / (fours * head_groups);
    if (token >= args.n_tokens) return;
    const uint in_token = thread_index % (fours * head_groups);
    const uint first = in_token % fours * 4, first_head = in_token / fours * args.heads_per_thread;
    const uint end_head = min(first_head + args.heads_per_thread, args.n_head);
    const float position = float(positions[token]);
    const ulong token_at = ulong(token) * args.n_head * args.head_dim;

    if (first + 4 <= half_dim) {
        const float4 angle = position * load4(inv_freq + first);
        const float4 cosine = precise::cos(angle), sine = precise::sin(angle);
        for (uint head = first_head; head < end_head; ++head) {
            const ulong at = token_at + head * args.head_dim;
            const auto four = Heads::load_four(x + at, half_dim, first);
            Heads::store_four(out + at, half_dim, first, four.rotated(cosine, sine));
        }
        return;
    }
    for (uint i = first; i < half_dim; ++i) {
        const float angle = position * inv_freq[i];
        const float cosine = precise::cos(angle), sine = precise::sin(angle);
        for (uint head = first_head; head < end_head; ++head) {
            const ulong at = token_at + head * args.head_dim;
            const auto pair = Heads::load(x + at, half_dim, i);
            Heads::store(out + at, half_dim, i, pair.rotated(cosine, sine));
        }
    }
}

template [[host_name("rope_f32")]] kernel void rope<false>(device const float*, device const int*, device const float*, device float*, constant RopeArgs&, uint);
template [[host_name("rope_interleaved_f32")]] kernel void rope<true>(device const float*, device const int*, device const float*, device float*, constant RopeArgs&, uint);
