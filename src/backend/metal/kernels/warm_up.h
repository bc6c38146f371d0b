#pragma once
// Arguments of the warm-up read.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct WarmUpArgs {
    uint32_t page_bytes;
    uint32_t pages;
};
static_assert(sizeof(WarmUpArgs) == 8, "as the host lays it out");
