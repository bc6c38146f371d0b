#pragma once
// Arguments of the element-wise kernels.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct ElementwiseArgs {
    uint32_t count;  // elements
};
static_assert(sizeof(ElementwiseArgs) == 4, "as the host lays it out");
