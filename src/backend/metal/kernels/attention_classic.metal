// Classic attention: runs any window over any head size, and is what faster kernels are held to.
//
// A threadgroup is one token and one KV head, a SIMD group of it one query head.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention.h"
#include "attention_shared_keys.h"
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
[[max_total_threads_per_threadgroup(kAttentionMaxThreads)]]
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
    const AttentionSums<kVectors> result = attend<kVectors>(
        q + head_at, key_cells, value_cells, head_element, args.head_dim, args.scale, rows, 0,
        n_rows, SharedKeys(shared, simdgroup), lane, simdgroup, simdgroups);

    if (!valid_head) return;
#pragma unroll
    for (uint i = 0; i < kVectors; ++i) {
        const uint dim = (lane + i * 32) * 4;
        if (dim < args.head_dim)
            // An empty window gives zeros; a score that is no number shows as one.
            store4(out + head_at + dim, n_rows > 0 ? result.sums[i] / result.total : float4(0));
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
