#include <metal_stdlib>
vertex float4 v(device float4* x [[buffer(0)]]) { return x[0]; }  // error: vertex functions are not supported: softmetal runs compute kernels
