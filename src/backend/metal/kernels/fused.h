#pragma once
// Arguments of the kernels that end a fused projection.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct RopeStoreArgs {
    uint32_t n_head;
    uint32_t n_head_kv;
    uint32_t head_dim;
    uint32_t cell_bytes;  // from one cell to the next
};
static_assert(sizeof(RopeStoreArgs) == 16, "as the host lays it out");
