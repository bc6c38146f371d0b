#pragma once
// Arguments of the KV store.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct KvStoreArgs {
    uint32_t width;  // elements of a cell, which are next to each other
};
static_assert(sizeof(KvStoreArgs) == 4, "as the host lays it out");
