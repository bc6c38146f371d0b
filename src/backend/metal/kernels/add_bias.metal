// Adds one vector to every row, in place.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "add_bias.h"
using namespace metal;

// One element a thread: x the row, y along it.
kernel void add_bias_f32(device float* rows [[buffer(0)]],
                         device const float* bias [[buffer(1)]],
                         constant AddBiasArgs& args [[buffer(2)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint2 threads [[threads_per_threadgroup]],
                         uint thread_index [[thread_index_in_threadgroup]]) {
    const uint element = group.y * threads.x + thread_index;
    if (element < args.width) rows[ulong(group.x) * args.width + element] += bias[element];
}
