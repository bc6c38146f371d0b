#pragma once
// Arguments and tile sizes of the matrix-matrix kernels.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct MulMmArgs {
    uint32_t in_dim, out_dim, n_tokens;
    uint32_t row_bytes;  // of a row of weights as stored
};
static_assert(sizeof(MulMmArgs) == 16, "as the host lays it out");

// A threadgroup makes kMulMmRows outputs of 32 or 16 tokens, kMulMmDepth inputs at a time.
enum { kMulMmRows = 64, kMulMmDepth = 32, kMulMmThreads = 128 };

// Threadgroup memory: the operand tiles, `bytes` an element, over which the results of tiles that
// stick out lie later: 8 tokens by 32 rows or fewer of each SIMD group, no more than the weights
// alone take in tiles of half.
constexpr uint32_t mul_mm_shared_bytes(uint32_t n_tokens, uint32_t bytes) {
    return (kMulMmRows + n_tokens) * kMulMmDepth * bytes;
}
static_assert(kMulMmThreads / 32 * 8 * 32 * 4 <= kMulMmRows * kMulMmDepth * 2,
              "results fit where weights of half lay");
