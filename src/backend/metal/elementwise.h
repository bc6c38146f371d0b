#pragma once
// Add, Mul, Silu and SwiGlu.

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"

namespace minfer::metal {

struct Context;

struct ElementwiseKernels {
    Pipeline add, mul, silu, swiglu;
    static Result<ElementwiseKernels> build(const Device& device);
};

// 256 threads of four elements each. Unsupported for more than kCountLimit elements, as every plan
// here for what exceeds that.
Result<Launch> plan_elementwise(size_t count);

// out[i] = silu(gate[i]) * up[i]; `out` may be `gate`.
Result<> swiglu(Context& context, const Slice& gate, const Slice& up, const Slice& out);

}  // namespace minfer::metal
