#pragma once
// Arguments of the bias kernel.

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

struct AddBiasArgs {
    uint32_t width;  // of the bias and of a row
};
static_assert(sizeof(AddBiasArgs) == 4, "as the host lays it out");
