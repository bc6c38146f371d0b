#include <metal_stdlib>
using namespace metal;
kernel void f(device half4* x [[buffer(0)]], device float4* y [[buffer(1)]]) {
    half4 v = y[0];  // error: no viable conversion from 'float4' to 'half4'
    x[0] = v;
}
