// What follows the projection of one token to q | k | v: add the biases, rotate q and k in place,
// store k and v to the token's cell. The same steps, and the same bits, as add_bias, rope and
// kv_store one after another.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "cells.h"
#include "fused.h"
#include "packed.h"
#include "rotation.h"
using namespace metal;

struct QkvBiases {
    device const float *q, *k, *v;
};

// Four elements of v to a thread.
template <typename Cell, bool kBias>
static void store_value(device float* value,
                        device const float* bias,
                        device uchar* cell,
                        uint first,
                        uint width) {
    if (first + 4 <= width) {
        float4 four = load4(value + first);
        if (kBias) {
            four += load4(bias + first);
            store4(value + first, four);
        }
        Cell::store(cell, first, four);
        return;
    }
    for (uint i = first; i < width; ++i) {
        if (kBias) value[i] += bias[i];
        Cell::store(cell, i, value[i]);
    }
}

// Four pairs of one head of q or k to a thread, then four elements of v.
template <typename Cell, bool kBias, bool kInterleaved>
static void rope_store(device float* qkv,
                       QkvBiases biases,
                       device const float* inv_freq,
                       int token_position,
                       int token_cell,
                       device uchar* k_region,
                       device uchar* v_region,
                       constant RopeStoreArgs& args,
                       uint thread_index) {
    using Heads = PairLayout<kInterleaved>;
    const uint half_dim = args.head_dim / 2, fours = (half_dim + 3) / 4;
    const uint n_rotated = args.n_head + args.n_head_kv, kv_width = args.n_head_kv * args.head_dim;
    const ulong cell_at = ulong(token_cell) * args.cell_bytes;
    if (thread_index >= n_rotated * fours) {
        const uint first = (thread_index - n_rotated * fours) * 4;
        store_value<Cell, kBias>(qkv + n_rotated * args.head_dim, biases.v, v_region + cell_at,
                                 first, kv_width);
        return;
    }

    // The heads of k follow those of q.
    const uint head = thread_index / fours, first = thread_index % fours * 4;
    const bool is_key = head >= args.n_head;
    const uint key_at = is_key ? (head - args.n_head) * args.head_dim : 0;
    device float* x = qkv + head * args.head_dim;
    device const float* bias = is_key ? biases.k + key_at : biases.q + head * args.head_dim;
    device uchar* key_cell = k_region + cell_at;
    const float position = float(token_position);
    if (first + 4 <= half_dim) {
        auto four = Heads::load_four(x, half_dim, first);
        if (kBias) four = four + Heads::load_four(bias, half_dim, first);
        const float4 angle = position * load4(inv_freq + first);
        four = four.rotated(precise::cos(angle), precise::sin(angle));
        Heads::store_four(x, half_dim, first, four);
        if (is_key) Heads::template store_four<Cell>(key_cell, key_at, half_dim, first, four);
        return;
    }
    for (uint i = first; i < half_dim; ++i) {
        auto pair = Heads::load(x, half_dim, i);
        if (kBias) pair = pair + Heads::load(bias, half_dim, i);
        const float angle = position * inv_freq[i];
        pair = pair.rotated(precise::cos(angle), precise::sin(angle));
        Heads::store(x, half_dim, i, pair);
        if (is_key) Heads::template store<Cell>(key_cell, key_at, half_dim, i, pair);
    }
}

template <typename Cell, bool kInterleaved>
kernel void attn_bias_rope_store(device float* qkv [[buffer(0)]],
                                 device const float* q_bias [[buffer(1)]],
                                 device const float* k_bias [[buffer(2)]],
                                 device const float* v_bias [[buffer(3)]],
                                 device const float* inv_freq [[buffer(4)]],
                                 device const int* positions [[buffer(5)]],
                                 device const int* cells [[buffer(6)]],
                                 device uchar* k_region [[buffer(7)]],
                                 device uchar* v_region [[buffer(8)]],
                                 constant RopeStoreArgs& args [[buffer(9)]],
                                 uint thread_index [[thread_position_in_grid]]) {
    rope_store<Cell, true, kInterleaved>(qkv, {q_bias, k_bias, v_bias}, inv_freq, positions[0],
                                         cells[0], k_region, v_region, args, thread_index);
}

template <typename Cell, bool kInterleaved>
kernel void attn_rope_store(device float* qkv [[buffer(0)]],
                            device const float* inv_freq [[buffer(1)]],
                            device const int* positions [[buffer(2)]],
                            device const int* cells [[buffer(3)]],
                            device uchar* k_region [[buffer(4)]],
                            device uchar* v_region [[buffer(5)]],
                            constant RopeStoreArgs& args [[buffer(6)]],
                            uint thread_index [[thread_position_in_grid]]) {
    rope_store<Cell, false, kInterleaved>(qkv, {qkv, qkv, qkv}, inv_freq, positions[0], cells[0],
                                          k_region, v_region, args, thread_index);
}

template [[host_name("attn_bias_rope_store_f32")]] kernel void attn_bias_rope_store<F32Cell, false>(device float*, device const float*, device const float*, device const float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_bias_rope_store_interleaved_f32")]] kernel void attn_bias_rope_store<F32Cell, true>(device float*, device const float*, device const float*, device const float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_bias_rope_store_f16")]] kernel void attn_bias_rope_store<F16Cell, false>(device float*, device const float*, device const float*, device const float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_bias_rope_store_interleaved_f16")]] kernel void attn_bias_rope_store<F16Cell, true>(device float*, device const float*, device const float*, device const float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_rope_store_f32")]] kernel void attn_rope_store<F32Cell, false>(device float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_rope_store_interleaved_f32")]] kernel void attn_rope_store<F32Cell, true>(device float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_rope_store_f16")]] kernel void attn_rope_store<F16Cell, false>(device float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
template [[host_name("attn_rope_store_interleaved_f16")]] kernel void attn_rope_store<F16Cell, true>(device float*, device const float*, device const int*, device const int*, device uchar*, device uchar*, constant RopeStoreArgs&, uint);
