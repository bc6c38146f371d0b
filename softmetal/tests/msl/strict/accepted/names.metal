#include <metal_stdlib>
using namespace metal;

// Words of OpenCL are plain names in Metal.
struct Sizes {
    uint global, local;
};
uint generic(uint pipe) { return pipe + 1; }
kernel void k(device uint* out [[buffer(0)]], constant Sizes& sizes [[buffer(1)]],
              uint global [[thread_position_in_grid]], uint local [[thread_index_in_threadgroup]]) {
    uint read_only = sizes.global, write_only = sizes.local;
    uint sampler_t = global % 2, event_t = local;
    out[global] = generic(read_only) + write_only + sampler_t + event_t;
}

// A name of a type elsewhere, a factor here.
struct rows {
    uint n;
};
template <class T>
T doubled(T x) {
    return x * 2;
}
kernel void product(device uint* out [[buffer(0)]], constant uint& rows [[buffer(1)]],
                    constant uint& T [[buffer(2)]]) {
    uint a = rows * out[0], b = (rows * T), c = rows & T;
    out[T * rows] = doubled(a * b) + (T & c);
}
