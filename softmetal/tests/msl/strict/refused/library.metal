#include <metal_stdlib>
using namespace metal;

kernel void k(device uint* out [[buffer(0)]], constant int& n [[buffer(1)]],
              constant float* in [[buffer(2)]], device atomic_uint* counter [[buffer(3)]]) {
    out[0] = min(out[0], n);  // error: call to 'min' is ambiguous
    out[1] = erf(1.0f);  // error: use of undeclared identifier 'erf'
    out[2] = metal::lgamma(1.0f);  // error: no member named 'lgamma' in namespace 'metal'
    threadgroup_barrier();  // error: no matching function for call to 'threadgroup_barrier'
    atomic_uint mine;
    out[3] = atomic_load_explicit(&mine, memory_order_relaxed);  // error: no matching function for call to 'atomic_load_explicit'
    counter[0] = 1;  // error: no viable overloaded '='
    out[4] = atomic_load(counter);  // error: use of undeclared identifier 'atomic_load'
    simdgroup_float8x8 m;
    simdgroup_load(m, in, 8);  // error: no matching function for call to 'simdgroup_load'
    simdgroup_store(m, out, 8);  // error: no matching function for call to 'simdgroup_store'
}
