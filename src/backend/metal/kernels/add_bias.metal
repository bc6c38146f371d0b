// Adds one vector to every row, in place.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "add_bias.h"
using namespace metal;

// One element a thread: x along the row, y the row.
kernel void add_bias_f32(device float* rows [[buffer(0)]],
                         device const float* bias [[buffer(1)]],
                         constant AddBiasArgs& args [[buffer(2)]],
                         uint2 at [[thread_position_in_grid]]) {
    if (at.x < args.width) rows[ulong(at.y) * args.width + at.x] += bias[at.x];
}
