#include <metal_stdlib>
using namespace metal;
kernel void f(texture2d<float> image, device float* x) {}  // error: 'texture2d' is not supported: softmetal runs compute kernels on buffers
