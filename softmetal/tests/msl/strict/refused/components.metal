#include <metal_stdlib>
using namespace metal;

void clear(thread float& x) { x = 0; }
kernel void k(device float4* out [[buffer(0)]]) {
    float4 v = out[0];
    thread float* named = &v.y;  // error: address of vector element requested
    thread float* indexed = &v[1];  // error: address of vector element requested
    device float* in_memory = &out[0].x;  // error: address of vector element requested
    thread float& reference = v[0];  // error: non-const reference cannot bind to vector element
    clear(v.x);  // error: no matching function for call to 'clear'
    clear(v[2]);  // error: no matching function for call to 'clear'
}
