#pragma once
// Attention of several tokens in tiles: what host and kernels agree on.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

enum AttentionPrefill : uint32_t {
    kPrefillQueries = 8,    // of a tile
    kPrefillCells = 64,     // of a block
    kPrefillThreads = 128,  // four SIMD groups
    kTailPadThreads = 256,  // 16 bytes each
};

// Bytes of threadgroup memory: queries and outputs of a tile, its scores in one block, a bit for
// each cell of that block and query that sees it, and one matrix of V for each SIMD group.
constexpr uint32_t prefill_shared_bytes(uint32_t head_dim) {
    return (2 * kPrefillQueries * head_dim + kPrefillQueries * kPrefillCells +
            kPrefillQueries * kPrefillCells / 32 + kPrefillThreads / 32 * 64) *
           4;
}

struct AttentionPrefillArgs {
    uint32_t n_tokens;
    uint32_t n_head;
    uint32_t group;       // query heads to a KV head
    uint32_t cell_width;  // elements of a cell, and from one to the next
    uint32_t first_cell;  // no token sees a cell outside [first, end)
    uint32_t end_cell;
    uint32_t only_seen;  // 1: a block in which no query of the tile sees a cell is not visited
    float scale;
};
static_assert(sizeof(AttentionPrefillArgs) == 32, "as the host lays it out");

struct AttentionTailPadArgs {
    uint32_t first_cell;  // of the block
    uint32_t n_cells;     // that the block has; 1 to kPrefillCells - 1
    uint32_t cell_bytes;  // a multiple of 16
};
static_assert(sizeof(AttentionTailPadArgs) == 12, "as the host lays it out");
