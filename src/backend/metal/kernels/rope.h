#pragma once
// Arguments of the rotation kernels.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct RopeArgs {
    uint32_t n_tokens;
    uint32_t n_head;
    uint32_t head_dim;
    uint32_t heads_per_thread;  // one set of sines and cosines serves so many
};
static_assert(sizeof(RopeArgs) == 16, "as the host lays it out");
