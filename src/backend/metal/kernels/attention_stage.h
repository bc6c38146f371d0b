#pragma once
// Packed cells as f32: what host and kernel agree on.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

enum AttentionStage : uint32_t {
    kStageThreads = 256,  // four elements each
};

struct AttentionStageArgs {
    uint32_t first_cell;  // of those to expand
    uint32_t n_ctx;       // cells of the arena, and so of each half of the output
    uint32_t cell_bytes;  // from one packed cell to the next
    uint32_t cell_width;  // elements of a cell, a multiple of 32
};
static_assert(sizeof(AttentionStageArgs) == 16, "as the host lays it out");
