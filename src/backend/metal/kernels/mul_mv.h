#pragma once
// Arguments of the matrix-vector kernels, and how many rows each gives to a SIMD group.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

// Up to three matrices of one type and width, whose products lie one after another in a row of the
// output. A threadgroup works on one of them.
struct MulMvArgs {
    uint32_t rows[3];           // of each matrix
    uint32_t last_group[2];     // where the threadgroups of the first and of the second matrix end
    uint32_t rows_per_group;    // of a threadgroup
    uint32_t in_dim, n_tokens;  // x is [n_tokens][in_dim]
    uint32_t out_dim;           // out is [n_tokens][out_dim], all matrices together
    uint32_t row_bytes;         // of the weights
    uint32_t lanes;             // that share a row: a power of two, 32 where several SIMD groups do
    uint32_t passes;            // threadgroups that share rows, each with columns of its own
};
static_assert(sizeof(MulMvArgs) == 48, "as the host lays it out");

// Rows that one lane works on at a time: with one column, and with two to four.
enum MulMvRows : uint32_t {
    kMulMvRowsQ32 = 4,
    kMulMvRowsQ8 = 2,
    kMulMvRowsK = 2,
    kMulMvRowsFloat = 4,
    kMulMvRowsColumns = 2,
};
