#pragma once
// Arguments of the RMS norm kernels.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct NormArgs {
    uint32_t width;  // elements of a row, each row after the other
    uint32_t rows;
    float eps;
};
static_assert(sizeof(NormArgs) == 12, "as the host lays it out");
