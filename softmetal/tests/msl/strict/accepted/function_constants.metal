#include <metal_stdlib>
using namespace metal;

// Values set when a pipeline is made, and what follows from them.
constant bool has_bias [[function_constant(0)]];
constant uint width [[function_constant(1)]];
constant float scale_or_default [[function_constant(2)]];
constant float scale = is_function_constant_defined(scale_or_default) ? scale_or_default : 1.0;
constant bool is_wide = width > 32 && has_bias;
namespace tuning {
constant short unroll [[function_constant(3)]];
}

kernel void k(device float* out [[buffer(0)]],
              device const float* bias [[buffer(1), function_constant(has_bias)]],
              uint i [[thread_position_in_grid]]) {
    float x = out[i] * scale;
    if (has_bias) x += bias[i % width];
    if (is_wide) x *= tuning::unroll;
    if (is_function_constant_defined(width)) x += 1;
    out[i] = x;
}
