// Reads one byte of every page of a buffer, so that the first use of the weights does not pay for
// mapping them.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "warm_up.h"
using namespace metal;

// The sums only keep the loads from being optimised away; out has one word for each SIMD group.
kernel void warm_up_read(device const uchar* bytes [[buffer(0)]],
                         device uint* out [[buffer(1)]],
                         constant WarmUpArgs& args [[buffer(2)]],
                         uint page [[thread_position_in_grid]]) {
    const uint value = page < args.pages ? bytes[ulong(page) * args.page_bytes] : 0;
    const uint sum = simd_sum(value);
    if (page % 32 == 0) out[page / 32] = sum;
}
