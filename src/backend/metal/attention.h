#pragma once
// Attention over the cells of a layer.

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"

namespace minfer::metal {

struct AttentionKernels {
    Pipeline classic, classic_wide;  // heads up to 128 and 256
    static Result<AttentionKernels> build(const Device& device);
};

// A threadgroup for each token, KV head and at most 8 of its query heads, a SIMD group for each of
// those.
Result<Launch> plan_attention(size_t n_tokens, size_t n_head, size_t n_head_kv);

}  // namespace minfer::metal
