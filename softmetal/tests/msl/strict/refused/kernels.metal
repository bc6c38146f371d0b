#include <metal_stdlib>
using namespace metal;

kernel void inner(device float* out [[buffer(0)]]) { out[0] = 1; }
kernel void outer(device float* out [[buffer(0)]]) {
    inner(out);  // error: kernel function 'inner' cannot be called
}
struct Kernels {
    kernel void k(device float* out [[buffer(0)]]) { out[0] = 1; }  // error: a kernel cannot be a member function
};
