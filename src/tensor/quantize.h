#pragma once
// f32 rows to stored rows for files, as llama.cpp's reference quantisers compute them without an
// importance matrix. Multiplies and adds are rounded one by one: a build of ggml that contracts
// them (-ffp-contract=fast with FMA) differs in rare ties.

#include <cstddef>

#include "base/result.h"
#include "tensor/blocks.h"
#include "tensor/dtype.h"

namespace minfer {

// True for F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K.
bool can_quantize(DType type);

// Writes row_bytes(type, values) bytes to `out`, which needs no alignment; `values` must be a
// multiple of the block and `type` one that can_quantize. Block types refuse (BadInput, naming the
// index) values that are not finite, and values so large that a block scale overflows its half.
// F32, F16 and BF16 take every value.
Result<> quantize_row(DType type, const float* in, std::byte* out, size_t values);

// Activations for the K types: scale from the value of largest magnitude, which maps to -127;
// quants rounded to nearest even. in[256], all finite.
BlockQ8_K quantize_block_q8_k(const float* in);

}  // namespace minfer
