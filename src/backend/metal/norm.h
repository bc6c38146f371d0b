#pragma once
// RmsNorm and QkNorm.

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"

namespace minfer::metal {

struct Context;

struct NormKernels {
    Pipeline threads_256;  // a threadgroup of 256 for each row
    Pipeline threads_32;   // a SIMD group for each row
    Pipeline heads;        // the same for rows of fewer than kShortRow elements
    static Result<NormKernels> build(const Device& device);
};

// All three give the same bits.
constexpr size_t kShortRow = 132;
Result<Launch> plan_rms_norm_256(size_t rows);
Result<Launch> plan_rms_norm_32(size_t rows);
Result<Launch> plan_norm_heads(size_t rows);  // 8 rows a threadgroup

// Each run of `head_dim` elements of x; one weight f32[head_dim] for all. `out` may be `x`.
Result<> norm_heads(Context& context, const Slice& x, const Slice& weight, const Slice& out,
                    size_t head_dim, float eps);

}  // namespace minfer::metal
