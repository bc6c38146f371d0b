#pragma once
// Arguments of the KV store.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct KvStoreArgs {
    uint32_t width;       // elements of a cell
    uint32_t cell_bytes;  // from one cell to the next
};
static_assert(sizeof(KvStoreArgs) == 8, "as the host lays it out");
