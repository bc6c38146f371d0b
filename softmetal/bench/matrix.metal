// Tiled matrix products with simdgroup_matrix, as engines write them: C = A B, all row-major, sizes
// multiples of the tile. A threadgroup of four SIMD groups makes a tile of 64 x 64, each SIMD group
// 32 x 32 of it as 4 x 4 matrices; tiles of A and B go through threadgroup memory.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint kTile = 64, kDepth = 32;

template <typename T>
kernel void multiply(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
                     device float* c [[buffer(2)]], constant uint3& size [[buffer(3)]],
                     uint2 tile [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]],
                     uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup T tile_a[kTile * kDepth];
    threadgroup T tile_b[kDepth * kTile];
    const uint n = size.y, k = size.z;
    simdgroup_matrix<float, 8, 8> sum[4][4];
    for (uint i = 0; i < 4; ++i) {
        for (uint j = 0; j < 4; ++j) sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.f);
    }
    const uint row = simd / 2 * 32, column = simd % 2 * 32;
    for (uint depth = 0; depth < k; depth += kDepth) {
        for (uint i = thread_index; i < kTile * kDepth; i += 128) {
            tile_a[i] = a[(tile.y * kTile + i / kDepth) * k + depth + i % kDepth];
            tile_b[i] = b[(depth + i / kTile) * n + tile.x * kTile + i % kTile];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint inner = 0; inner < kDepth; inner += 8) {
            simdgroup_matrix<T, 8, 8> left[4], right[4];
#pragma unroll
            for (uint i = 0; i < 4; ++i) {
                simdgroup_load(left[i], tile_a + (row + i * 8) * kDepth + inner, kDepth);
                simdgroup_load(right[i], tile_b + inner * kTile + column + i * 8, kTile);
            }
#pragma unroll
            for (uint i = 0; i < 4; ++i) {
#pragma unroll
                for (uint j = 0; j < 4; ++j) {
                    simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 4; ++i) {
        for (uint j = 0; j < 4; ++j) {
            simdgroup_store(sum[i][j],
                            c + (tile.y * kTile + row + i * 8) * n + tile.x * kTile + column + j * 8,
                            n);
        }
    }
}

template [[host_name("multiply_float")]] kernel void multiply<float>(
    device const float*, device const float*, device float*, constant uint3&, uint2, uint, uint);
template [[host_name("multiply_half")]] kernel void multiply<half>(
    device const half*, device const half*, device float*, constant uint3&, uint2, uint, uint);
