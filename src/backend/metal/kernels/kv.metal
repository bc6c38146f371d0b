// Rows into cells of the KV cache. The host has checked the cells.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "kv.h"
#include "packed.h"
using namespace metal;

// Row t, four elements to a thread, into cell cells[t].
kernel void kv_store_f32(device const float* rows [[buffer(0)]],
                         device const int* cells [[buffer(1)]],
                         device float* region [[buffer(2)]],
                         constant KvStoreArgs& args [[buffer(3)]],
                         uint2 position [[thread_position_in_grid]]) {
    const uint first = position.x * 4, token = position.y;
    device const float* from = rows + ulong(token) * args.width;
    device float* to = region + ulong(cells[token]) * args.width;
    if (first + 4 <= args.width) {
        store4(to + first, load4(from + first));
        return;
    }
    for (uint i = first; i < args.width; ++i) to[i] = from[i];
}
