// Flash decoding: attention of one token. Chunk c of n takes steps c, c + n, ... of 32 cells each;
// a SIMD group is a threadgroup and keeps the running softmax of a chunk for one query head, or for
// several of a KV head, which then share what is loaded. attention_combine puts the chunks
// together.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention_records.h"
#include "cells.h"
using namespace metal;

// Of four keys at once, over the lanes that share each, in all of them.
template <uint kLanes>
static float4 sum_of_key(float4 parts) {
    if (kLanes == 32) return simd_sum(parts);
#pragma unroll
    for (ushort step = kLanes / 2; step > 0; step /= 2) parts += simd_shuffle_xor(parts, step);
    return parts;
}

// kLanes share a key, a lane has kVectors vectors of four of its dimensions:
// head_dim <= 4 * kLanes * kVectors. kHeads query heads share what is loaded.
template <typename Cell, uint kLanes, uint kVectors, uint kHeads>
kernel void attention_decode(device const float* q [[buffer(0)]],
                             device const uchar* k [[buffer(1)]],
                             device const uchar* v [[buffer(2)]],
                             device float* partials [[buffer(3)]],
                             constant AttentionDecodeArgs& args [[buffer(4)]],
                             uint3 threadgroup_at [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float4 weights[kHeads][kDecodeStepKeys / 4];

    const uint kv_head = threadgroup_at.y / args.parts, chunk = threadgroup_at.z;
    const uint first_in_group = threadgroup_at.y % args.parts * kHeads;
    const Cells<Cell> key_cells = {k, args.cell_bytes, args.cell_width};
    const Cells<Cell> value_cells = {v, args.cell_bytes, args.cell_width};

    // Heads past the group's last one are that one once more, and are not stored. Dimensions past
    // the head's last one read the first ones and count for nothing.
    const uint part = lane % kLanes, first_key_of_part = lane / kLanes * kLanes;
    uint dims[kVectors], elements[kVectors];
    float4 queries[kHeads][kVectors], sums[kHeads][kVectors];
    float largest[kHeads], totals[kHeads];
#pragma unroll
    for (uint i = 0; i < kVectors; ++i) {
        dims[i] = (part + i * kLanes) * 4;
        elements[i] = kv_head * args.head_dim + (dims[i] < args.head_dim ? dims[i] : 0);
    }
#pragma unroll
    for (uint h = 0; h < kHeads; ++h) {
        const uint head = kv_head * args.group + min(first_in_group + h, args.group - 1);
        largest[h] = -FLT_MAX / 2;
        totals[h] = 0;
#pragma unroll
        for (uint i = 0; i < kVectors; ++i) {
            queries[h][i] =
                dims[i] < args.head_dim ? load4(q + head * args.head_dim + dims[i]) : float4(0);
            sums[h][i] = 0;
        }
    }

    // Every lane takes every step, and in each all keys up to the last one that any lane sees.
    const uint n_steps = (args.n_cells + kDecodeStepKeys - 1) / kDecodeStepKeys;
    for (uint step = chunk; step < n_steps; step += args.n_chunks) {
        const uint first = step * kDecodeStepKeys;
        const uint n_keys = min(uint(kLanes), args.n_cells - first);
        // Cells past the last one are the last one once more; its own lane alone sees it.
        const bool visible = first + lane < args.n_cells;

        float scores[kHeads];
#pragma unroll
        for (uint h = 0; h < kHeads; ++h) scores[h] = 0;
        for (uint key = 0; key < n_keys; key += 4) {
            float4 keys[4][kVectors];
#pragma unroll
            for (uint j = 0; j < 4; ++j) {
                const uint cell = min(first + first_key_of_part + key + j, args.n_cells - 1);
#pragma unroll
                for (uint i = 0; i < kVectors; ++i) keys[j][i] = key_cells.load(cell, elements[i]);
            }
#pragma unroll
            for (uint h = 0; h < kHeads; ++h) {
                float4 dots = 0;
#pragma unroll
                for (uint j = 0; j < 4; ++j) {
                    float4 products = queries[h][0] * keys[j][0];
#pragma unroll
                    for (uint i = 1; i < kVectors; ++i)
                        products = fma(queries[h][i], keys[j][i], products);
                    dots[j] = sum4(products);
                }
                dots = sum_of_key<kLanes>(dots);
                // A lane keeps the score of the key whose number it has.
                const float2 pair = part % 4 < 2 ? dots.xy : dots.zw;
                const float own = part % 2 == 0 ? pair.x : pair.y;
                scores[h] = part / 4 == key / 4 ? own : scores[h];
            }
        }

#pragma unroll
        for (uint h = 0; h < kHeads; ++h) {
            const float score = scores[h] * args.scale;
            const float new_largest = max(largest[h], simd_max(visible ? score : -FLT_MAX / 2));
            const float weight = visible ? precise::exp(score - new_largest) : 0;
            const float correction = precise::exp(largest[h] - new_largest);
            totals[h] = totals[h] * correction + weight;
            largest[h] = new_largest;
#pragma unroll
            for (uint i = 0; i < kVectors; ++i) sums[h][i] *= correction;
            reinterpret_cast<threadgroup float*>(weights[h])[lane] = weight;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        for (uint key = 0; key < n_keys; key += 4) {
            float4 values[4][kVectors];
#pragma unroll
            for (uint j = 0; j < 4; ++j) {
                const uint cell = min(first + first_key_of_part + key + j, args.n_cells - 1);
#pragma unroll
                for (uint i = 0; i < kVectors; ++i)
                    values[j][i] = value_cells.load(cell, elements[i]);
            }
#pragma unroll
            for (uint h = 0; h < kHeads; ++h) {
                const float4 four = weights[h][(first_key_of_part + key) / 4];
#pragma unroll
                for (uint i = 0; i < kVectors; ++i) {
#pragma unroll
                    for (uint j = 0; j < 4; ++j)
                        sums[h][i] = fma(float4(four[j]), values[j][i], sums[h][i]);
                }
            }
        }
        // The next step's weights must not overtake the reading of these. Lanes meet before that, in
        // the sums of its scores, but such functions order no memory; softmetal, where they do,
        // cannot show that this is needed.
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

#pragma unroll
    for (uint h = 0; h < kHeads; ++h) {
        const float total = simd_sum(totals[h]);
        if (kLanes == 16) {
#pragma unroll
            for (uint i = 0; i < kVectors; ++i) sums[h][i] += simd_shuffle_xor(sums[h][i], 16);
        }
        if (first_in_group + h >= args.group) continue;
        device float* record =
            partials + attention_record(kv_head * args.group + first_in_group + h, chunk, args);
        if (lane == 0) {
            record[0] = largest[h];
            record[1] = total;
        }
#pragma unroll
        for (uint i = 0; i < kVectors; ++i)
            if (lane < kLanes && dims[i] < args.head_dim)
                store4(record + kDecodeRecordHead + dims[i], sums[h][i]);
    }
}

#define MINFER_ATTENTION_DECODE_INSTANCE(name, ...)                                          \
    template [[host_name(name)]] kernel void attention_decode<__VA_ARGS__>(                  \
        device const float*, device const uchar*, device const uchar*, device float*,        \
        constant AttentionDecodeArgs&, uint3, uint);
#define MINFER_ATTENTION_DECODE_HEADS(size, name, ...)                                      \
    MINFER_ATTENTION_DECODE_INSTANCE("attention_decode_" size "_" name, __VA_ARGS__, 1)    \
    MINFER_ATTENTION_DECODE_INSTANCE("attention_decode_" size "_x2_" name, __VA_ARGS__, 2) \
    MINFER_ATTENTION_DECODE_INSTANCE("attention_decode_" size "_x4_" name, __VA_ARGS__, 4)
// Heads of up to 64, 128 and 256 dimensions.
#define MINFER_ATTENTION_DECODE(name, cell)                  \
    MINFER_ATTENTION_DECODE_HEADS("64", name, cell, 16, 1)  \
    MINFER_ATTENTION_DECODE_HEADS("128", name, cell, 32, 1) \
    MINFER_ATTENTION_DECODE_HEADS("256", name, cell, 32, 2)

MINFER_ATTENTION_DECODE("f32", F32Cell)
MINFER_ATTENTION_DECODE("f16", F16Cell)
MINFER_ATTENTION_DECODE("q8_0", Q8_0Cell)
MINFER_ATTENTION_DECODE("q8_0_split", Q8_0SplitCell)
