#pragma once
// Rows of K and V to the blocks of a q8_0 cell. Not the quantiser of files (quantize.h), which
// rounds ties away from zero and refuses values: a cache has no one to refuse to. Every backend
// that stores q8_0 cells writes these bytes, and they are what a saved session holds.

#include <cstddef>

#include "tensor/blocks.h"

namespace minfer {

// For in[32], in f32 arithmetic: d = largest magnitude / 127, quants = x * (1 / d) to nearest with
// ties to even, and d kept as the nearest half. No quant gets past +-127.
//
// - A scale whose half is zero gives zeros. The half decides and not the float, because below it
//   are floats that GPUs may flush to zero, and the block's values are zero either way.
// - A scale past the largest half is stored as infinity: every value of that block comes back as
//   infinity, or as NaN where its quant is 0.
// - A block with a value that is infinite or NaN is the scale 0x7e00, a NaN, and zeros: none of it
//   comes back as a number.
BlockQ8_0 quantize_kv_block(const float* in);

// `values` of them, a multiple of 32, to blocks at `out`, which needs no alignment.
void quantize_kv_row(const float* in, std::byte* out, size_t values);

}  // namespace minfer
