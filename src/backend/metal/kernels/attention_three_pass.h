#pragma once
// Arguments of attention in three passes.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

// Rows are pairs of a token and a query head in the order of q: row = token * n_head + head.
struct ThreePassArgs {
    uint32_t first_row;  // the rows of this slab
    uint32_t n_rows;
    uint32_t n_head;
    uint32_t group;       // query heads to a KV head
    uint32_t n_keys;      // from one row of scores to the next
    uint32_t cell_bytes;  // from one cell to the next
    float scale;
};
static_assert(sizeof(ThreePassArgs) == 28, "as the host lays it out");

enum ThreePassSizes : uint32_t {
    kThreePassSimdGroups = 4,  // rows of a threadgroup
};
