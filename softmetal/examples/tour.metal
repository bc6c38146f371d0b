// Kernels of the tour that are compiled when it is built: a reduction, and a matrix multiplication on
// 8x8 SIMD-group matrices.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// One sum per threadgroup: lanes add up within their SIMD group, then the first group adds the sums.
kernel void sum(device const float* in [[buffer(0)]],
                device float* out [[buffer(1)]],
                constant uint& count [[buffer(2)]],
                threadgroup float* partial [[threadgroup(0)]],
                uint i [[thread_position_in_grid]],
                uint n [[threads_per_grid]],
                uint group [[threadgroup_position_in_grid]],
                uint lane [[thread_index_in_simdgroup]],
                uint simd [[simdgroup_index_in_threadgroup]],
                uint simds [[simdgroups_per_threadgroup]]) {
    float total = 0;
    for (uint at = i; at < count; at += n) total += in[at];
    total = simd_sum(total);
    if (lane == 0) partial[simd] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd != 0) return;
    total = simd_sum(lane < simds ? partial[lane] : 0.0f);
    if (lane == 0) out[group] = total;
}

struct Shape {
    uint rows, columns, inner;  // multiples of 32
};

constant constexpr uint kTile = 32;  // rows and columns of c that one threadgroup computes

// c = a * b, row by row in memory. A threadgroup has four SIMD groups; each computes a quarter of the
// tile as 2x2 matrices of 8x8, from strips of a and b that all of them bring into threadgroup memory.
kernel void multiply(device const float* a [[buffer(0)]],   // [rows, inner]
                     device const float* b [[buffer(1)]],   // [inner, columns]
                     device float* c [[buffer(2)]],         // [rows, columns]
                     constant Shape& shape [[buffer(3)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]],
                     uint simd [[simdgroup_index_in_threadgroup]]) {
    constexpr uint kThreads = 128;
    threadgroup float strip_a[kTile * kTile];
    threadgroup float strip_b[kTile * kTile];
    const uint first_row = group.y * kTile, first_column = group.x * kTile;
    const uint row = simd / 2 * 16, column = simd % 2 * 16;  // of this SIMD group's quarter

    simdgroup_float8x8 sums[2][2];
    for (uint r = 0; r < 2; ++r) {
        for (uint q = 0; q < 2; ++q) sums[r][q] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    for (uint k = 0; k < shape.inner; k += kTile) {
        for (uint at = thread_index; at < kTile * kTile; at += kThreads) {
            const uint y = at / kTile, x = at % kTile;
            strip_a[at] = a[(first_row + y) * shape.inner + k + x];
            strip_b[at] = b[(k + y) * shape.columns + first_column + x];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint step = 0; step < kTile; step += 8) {
            simdgroup_float8x8 left[2], right[2];
            for (uint r = 0; r < 2; ++r) {
                simdgroup_load(left[r], strip_a + (row + r * 8) * kTile + step, kTile);
                simdgroup_load(right[r], strip_b + step * kTile + column + r * 8, kTile);
            }
            for (uint r = 0; r < 2; ++r) {
                for (uint q = 0; q < 2; ++q) {
                    simdgroup_multiply_accumulate(sums[r][q], left[r], right[q], sums[r][q]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint r = 0; r < 2; ++r) {
        for (uint q = 0; q < 2; ++q) {
            simdgroup_store(sums[r][q],
                            c + (first_row + row + r * 8) * shape.columns + first_column + column + q * 8,
                            shape.columns);
        }
    }
}
