#pragma once
// What the families of attention kernels share, and what the classic one takes.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

enum AttentionWindow : uint32_t {
    kWindowCausal,  // the window input is positions: cells [0, position]
    kWindowSpan,    // as in graph/attn_window.h
    kWindowMap,
};

enum AttentionSharedKeys : uint32_t {
    kTileKeys = 32,               // one for each lane
    kTileDims = 64,               // of each key at a time: heads of any size take 9 KiB
    kTileStride = kTileDims + 4,  // floats; no two of 32 lanes meet in a bank
    kAttentionMaxHeadDim = 256,
    kAttentionMaxSimdGroups = 8,  // query heads of a threadgroup
    kAttentionMaxThreads = kAttentionMaxSimdGroups * 32,
};

struct AttentionArgs {
    uint32_t window;  // AttentionWindow
    uint32_t n_tokens;
    uint32_t n_head;
    uint32_t group;  // query heads to a KV head
    uint32_t head_dim;
    uint32_t cell_bytes;  // from one cell to the next
    uint32_t cell_width;  // elements of a cell
    float scale;
};
static_assert(sizeof(AttentionArgs) == 32, "as the host lays it out");
