// Classic attention: runs any window over any head size, and is what faster kernels are held to.
//
// A threadgroup is one token and one KV head, a SIMD group of it one query head. The window is
// walked in tiles of 32 keys that all SIMD groups share: a lane scores one key, then owns four
// dimensions of the output for every key. Tiles count rows of the window, not cells: what a token
// gets depends on the cells it sees and on nothing else.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention.h"
#include "cells.h"
using namespace metal;

// The cells a token sees as four runs, most of them empty.
struct AttentionRows {
    int4 ends;   // row of the window at which a run ends
    int4 bases;  // cell of a row - row

    AttentionRows(device const int* data, uint token, constant AttentionArgs& args) {
        int4 cells = 0, counts = 0;
        if (args.window == kWindowCausal) {
            counts.x = data[token] + 1;
        } else if (args.window == kWindowSpan) {
            cells.x = data[token];
            counts.x = data[args.n_tokens + token] - cells.x;
        } else {
            device const int* runs = data + ulong(token) * 8;
            cells = int4(runs[0], runs[2], runs[4], runs[6]);
            counts = int4(runs[1], runs[3], runs[5], runs[7]);
        }
        ends.x = counts.x;
        ends.y = ends.x + counts.y;
        ends.z = ends.y + counts.z;
        ends.w = ends.z + counts.w;
        bases = cells - (ends - counts);
    }
    uint count() const { return uint(ends.w); }
    uint cell(uint row) const {
        const int r = int(row);
        return uint(r + (r < ends.x   ? bases.x
                         : r < ends.y ? bases.y
                         : r < ends.z ? bases.z
                                      : bases.w));
    }
};

// Cell: how cells lie in memory. kVectors: vectors of four dimensions that a lane owns; head_dim <= 128 * kVectors.
template <typename Cell, uint kVectors>
kernel void attention(device const float* q [[buffer(0)]],
                      device const uchar* k [[buffer(1)]],
                      device const uchar* v [[buffer(2)]],
                      device const int* window [[buffer(3)]],
                      device float* out [[buffer(4)]],
                      constant AttentionArgs& args [[buffer(5)]],
                      threadgroup float* shared [[threadgroup(0)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float* keys = shared;  // [kTileKeys][kTileStride]
    threadgroup uint* cells = reinterpret_cast<threadgroup uint*>(keys + kTileKeys * kTileStride);
    threadgroup float* weights =
        keys + kTileKeys * kTileStride + kTileKeys + simdgroup * kTileKeys;

    const uint token = group.x, kv_head = group.y;
    const uint head_in_group = group.z * simdgroups + simdgroup;
    // A SIMD group past the last head works on the first one and keeps the result to itself: all
    // have to meet at the barriers.
    const bool valid_head = head_in_group < args.group;
    const uint head = valid_head ? kv_head * args.group + head_in_group : 0;
    const ulong head_at = (ulong(token) * args.n_head + head) * args.head_dim;
    const Cells<Cell> key_cells = {k, args.cell_bytes, args.cell_width};
    const Cells<Cell> value_cells = {v, args.cell_bytes, args.cell_width};
    const uint head_element = kv_head * args.head_dim;

    const AttentionRows rows(window, token, args);
    const uint n_rows = rows.count();
    float largest = -FLT_MAX / 2, total = 0;
    float4 sums[kVectors] = {};
    for (uint first = 0; first < n_rows; first += kTileKeys) {
        const uint n_keys = min(uint(kTileKeys), n_rows - first);
        float4 dots = 0;
        for (uint first_dim = 0; first_dim < args.head_dim; first_dim += kTileDims) {
            const uint dims = min(uint(kTileDims), args.head_dim - first_dim);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            // Half a SIMD group a key. Rows past the last are the last once more.
            const uint dim = lane % 16 * 4;
            for (uint key = simdgroup * 2 + lane / 16; key < kTileKeys; key += simdgroups * 2) {
                const uint cell = rows.cell(min(first + key, n_rows - 1));
                if (lane % 16 == 0) cells[key] = cell;
                if (dim >= dims) continue;
                *reinterpret_cast<threadgroup float4*>(keys + key * kTileStride + dim) =
                    key_cells.load(cell, head_element + first_dim + dim);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            device const float* q_dims = q + head_at + first_dim;
            threadgroup const float* key_dims = keys + lane * kTileStride;
#pragma unroll 4
            for (uint d = 0; d < dims; d += 4)
                dots = fma(load4(q_dims + d),
                           *reinterpret_cast<threadgroup const float4*>(key_dims + d), dots);
        }

        const bool visible = lane < n_keys;
        const float score = sum4(dots) * args.scale;
        const float new_largest = max(largest, simd_max(visible ? score : -FLT_MAX / 2));
        const float weight = visible ? precise::exp(score - new_largest) : 0;
        const float correction = precise::exp(largest - new_largest);
        total = total * correction + simd_sum(weight);
        largest = new_largest;
        weights[lane] = weight;
        simdgroup_barrier(mem_flags::mem_threadgroup);

#pragma unroll
        for (uint i = 0; i < kVectors; ++i) sums[i] *= correction;
#pragma unroll 4
        for (uint key = 0; key < n_keys; ++key) {
            const uint cell = cells[key];
#pragma unroll
            for (uint i = 0; i < kVectors; ++i) {
                const uint dim = (lane + i * 32) * 4;
                if (dim < args.head_dim)
                    sums[i] = fma(float4(weights[key]),
                                  value_cells.load(cell, head_element + dim), sums[i]);
            }
        }
    }

    if (!valid_head) return;
#pragma unroll
    for (uint i = 0; i < kVectors; ++i) {
        const uint dim = (lane + i * 32) * 4;
        if (dim < args.head_dim)
            // An empty window gives zeros; a score that is no number shows as one.
            store4(out + head_at + dim, n_rows > 0 ? sums[i] / total : float4(0));
    }
}

template [[host_name("attention_f32")]] kernel void attention<F32Cell, 1>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_wide_f32")]] kernel void attention<F32Cell, 2>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_f16")]] kernel void attention<F16Cell, 1>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_wide_f16")]] kernel void attention<F16Cell, 2>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_q8_0")]] kernel void attention<Q8_0Cell, 1>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_wide_q8_0")]] kernel void attention<Q8_0Cell, 2>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_q8_0_split")]] kernel void attention<Q8_0SplitCell, 1>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_wide_q8_0_split")]] kernel void attention<Q8_0SplitCell, 2>(device const float*, device const uchar*, device const uchar*, device const int*, device float*, constant AttentionArgs&, threadgroup float*, uint3, uint, uint, uint);
