#pragma once
// Stored rows to f32, one value at a time in the plain order of the formulas in blocks.h: the
// reference for every faster path. Products and sums are rounded to f32 one by one, as numpy does.

#include <cstddef>
#include <string>

#include "tensor/dtype.h"

namespace minfer {

// True for F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K … Q6_K, Q8_K, IQ4_NL, IQ4_XS.
bool can_dequantize(DType type);

// Reads `values` elements (a multiple of the block) from `row`, which needs no alignment, into
// out[values]. `type` must be one that can_dequantize.
void dequantize_row(DType type, const std::byte* row, float* out, size_t values);

}  // namespace minfer
