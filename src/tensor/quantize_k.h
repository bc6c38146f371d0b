#pragma once
// Encoders of the 256-wide file types; quantize.h is what callers use.

#include "tensor/blocks.h"

namespace minfer {

// in[256], all finite. False when a scale overflows its half.
bool encode(const float* in, BlockQ4_K& block);
bool encode(const float* in, BlockQ5_K& block);
bool encode(const float* in, BlockQ6_K& block);

}  // namespace minfer
