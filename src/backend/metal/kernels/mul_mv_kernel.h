#pragma once
// Matrix times vector, and times a few vectors: the one loop of every weight type. The memory is
// what limits it, so a SIMD group keeps several blocks in flight, neighbouring lanes on
// neighbouring bytes, and uses each weight it loaded for all of its columns.
//
// What an element of the output is, to the last bit, depends on its row, its column and the width:
// each lane adds its blocks in order into four partial sums, those are added, then the lanes, then
// the SIMD groups that share a row. So a row alone, among others, in a fused projection or beside
// other columns is the same.
//
// A weight type W has
//   kBlock, kBytes  weights of a block and its size; kLanes lanes share one, each with its `part`
//   kSplitsK        whether the SIMD groups of a threadgroup share rows, or have rows of their own
//   Activations, Weights  what a lane needs of a block
//   activations(), weights()  load them; `scalars`: see below
//   dot()           adds their product to four partial sums

#include <metal_stdlib>
#include "mul_mv.h"
#include "packed.h"
using namespace metal;

// Sums over each `lanes` neighbours, in all of them.
template <typename T>
static T sum_over(T value, uint lanes) {
    if (lanes == 32) return simd_sum(value);
    for (uint step = lanes / 2; step > 0; step /= 2) value += simd_shuffle_xor(value, ushort(step));
    return value;
}

// Four values at a time, because each call brings the lanes together.
template <uint N>
static void sum_all_over(thread float (&values)[N], uint lanes) {
#pragma unroll
    for (uint i = 0; i + 4 <= N; i += 4) {
        const float4 sum =
            sum_over(float4(values[i], values[i + 1], values[i + 2], values[i + 3]), lanes);
        values[i] = sum.x;
        values[i + 1] = sum.y;
        values[i + 2] = sum.z;
        values[i + 3] = sum.w;
    }
    if (N % 4 == 2) {
        const float2 sum = sum_over(float2(values[N - 2], values[N - 1]), lanes);
        values[N - 2] = sum.x;
        values[N - 1] = sum.y;
    }
}

// Rows times columns that a threadgroup computes together: where its results go.
struct MulMvTile {
    device float* out;  // of the first row and the first column
    uint rows, columns, stride;

    template <uint R, uint C>
    void store(thread const float (&values)[R * C]) const {
#pragma unroll
        for (uint r = 0; r < R; ++r) {
#pragma unroll
            for (uint c = 0; c < C; ++c)
                if (r < rows && c < columns) out[ulong(c) * stride + r] = values[r * C + c];
        }
    }
};

template <typename W, uint R, uint C>
kernel void mul_mv(device const uchar* weights0 [[buffer(0)]],
                   device const uchar* weights1 [[buffer(1)]],
                   device const uchar* weights2 [[buffer(2)]], device const float* x [[buffer(3)]],
                   device float* out [[buffer(4)]], constant MulMvArgs& args [[buffer(5)]],
                   uint threadgroup_index [[threadgroup_position_in_grid]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint n_simdgroups [[simdgroups_per_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float partial[W::kSplitsK ? 4 * R * C : 1];

    device const uchar* weights = weights0;
    uint group = threadgroup_index / args.passes, n_rows = args.rows[0];
    if (group >= args.last_group[1]) {
        weights = weights2;
        group -= args.last_group[1];
        n_rows = args.rows[2];
        out += args.rows[0] + args.rows[1];
    } else if (group >= args.last_group[0]) {
        weights = weights1;
        group -= args.last_group[0];
        n_rows = args.rows[1];
        out += args.rows[0];
    }

    const uint lanes = args.lanes;
    const uint lane_rows = 32 / lanes * R;  // of a SIMD group
    const uint first_row = group * args.rows_per_group + (lane / lanes) * R +
                           (W::kSplitsK ? 0 : simdgroup * lane_rows);
    const uint k_group = W::kSplitsK ? simdgroup : 0, k_groups = W::kSplitsK ? n_simdgroups : 1;
    const uint part = lane % W::kLanes;
    const uint first_block = (k_group * lanes + lane % lanes) / W::kLanes;
    const uint step = k_groups * lanes / W::kLanes;
    const uint n_blocks =
        first_row < n_rows ? (args.in_dim + W::kBlock - 1) / W::kBlock : 0;  // no row: nothing
    // Rows past the last one stand for it, and are not stored.
    device const uchar* row[R];
#pragma unroll
    for (uint r = 0; r < R; ++r)
        row[r] = weights + ulong(min(first_row + r, n_rows - 1)) * args.row_bytes;

    for (uint token = threadgroup_index % args.passes * C; token < args.n_tokens;
         token += args.passes * C) {
        float4 sums[R][C];
#pragma unroll
        for (uint r = 0; r < R; ++r) {
#pragma unroll
            for (uint c = 0; c < C; ++c) sums[r][c] = 0;
        }
        device const float* column[C];
#pragma unroll
        for (uint c = 0; c < C; ++c)
            column[c] = x + ulong(min(token + c, args.n_tokens - 1)) * args.in_dim;

        for (uint block = first_block; block < n_blocks; block += step) {
            const uint first = block * W::kBlock;
            // Zero: whole vectors may be loaded. Else how many values there are, one by one.
            const uint scalars =
                args.in_dim % W::kBlock == 0 ? 0 : min(uint(W::kBlock), args.in_dim - first);
            typename W::Weights w[R];
#pragma unroll
            for (uint r = 0; r < R; ++r)
                w[r] = W::weights(row[r] + ulong(block) * W::kBytes, part, scalars);
#pragma unroll
            for (uint c = 0; c < C; ++c) {
                const auto a = W::activations(column[c] + first, part, scalars);
#pragma unroll
                for (uint r = 0; r < R; ++r) sums[r][c] = W::dot(w[r], a, sums[r][c]);
            }
        }

        float values[R * C];
#pragma unroll
        for (uint r = 0; r < R; ++r) {
#pragma unroll
            for (uint c = 0; c < C; ++c) values[r * C + c] = sum4(sums[r][c]);
        }
        sum_all_over<R * C>(values, lanes);

        const MulMvTile tile = {out + ulong(token) * args.out_dim + first_row,
                                first_row < n_rows ? n_rows - first_row : 0, args.n_tokens - token,
                                args.out_dim};
        if (k_groups == 1) {
            if (lane % lanes == 0) tile.store<R, C>(values);
            continue;
        }
        if (lane == 0) {
#pragma unroll
            for (uint i = 0; i < R * C; ++i) partial[simdgroup * R * C + i] = values[i];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (simdgroup == 0 && lane == 0) {
#pragma unroll
            for (uint i = 0; i < R * C; ++i) {
                float sum = partial[i];
                for (uint g = 1; g < k_groups; ++g) sum += partial[g * R * C + i];
                values[i] = sum;
            }
            tile.store<R, C>(values);
        }
        // The next columns' partial sums must not overtake the reading of these.
        if (token + args.passes * C < args.n_tokens)
            threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// The instances of one type: one column, and two, three, four.
#define MINFER_MUL_MV_INSTANCE(name, type, rows, columns)                                   \
    template [[host_name(name)]] kernel void mul_mv<type, rows, columns>(                   \
        device const uchar*, device const uchar*, device const uchar*, device const float*, \
        device float*, constant MulMvArgs&, uint, uint, uint, uint);
#define MINFER_MUL_MV(name, type, rows)                                     \
    MINFER_MUL_MV_INSTANCE("mul_mv_" name, type, rows, 1)                   \
    MINFER_MUL_MV_INSTANCE("mul_mv_" name "_2", type, kMulMvRowsColumns, 2) \
    MINFER_MUL_MV_INSTANCE("mul_mv_" name "_3", type, kMulMvRowsColumns, 3) \
    MINFER_MUL_MV_INSTANCE("mul_mv_" name "_4", type, kMulMvRowsColumns, 4)
