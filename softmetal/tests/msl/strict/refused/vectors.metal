#include <metal_stdlib>
using namespace metal;

half4 narrow(float4 v) {
    return v;  // error: no viable conversion from returned value of type 'float4' to function return type 'half4'
}
float4 take(float4 v) { return v; }
kernel void k(device int4* in [[buffer(0)]], device float4* out [[buffer(1)]]) {
    float4 v = in[0];  // error: no viable conversion from 'device int4' to 'float4'
    out[0] = in[0];  // error: no viable overloaded '='
    out[1] = take(in[0]);  // error: no matching function for call to 'take'
    in[1] = in[0] * 1.5;  // error: invalid operands to binary expression
    out[2] = out[0] * in[0];  // error: invalid operands to binary expression
    out[3] = float4(1, 2, 3);  // error: no matching constructor for initialization of 'float4'
    out[4] = out[0] % 2;  // error: invalid operands to binary expression
    if (out[0] < out[1]) return;  // error: value of type 'bool4' is not contextually convertible to 'bool'
    float x = out[0];  // error: no viable conversion from 'device float4' to 'float'
    out[5].xx = float2(1, 2);  // error: a swizzle that names a component twice cannot be assigned
    out[6].xq = 1;  // error: no member named 'xq' in 'float4'
}
