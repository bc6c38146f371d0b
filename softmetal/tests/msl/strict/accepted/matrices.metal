#include <metal_stdlib>
using namespace metal;

kernel void k(device float4x4* m [[buffer(0)]], constant float3x3& c [[buffer(1)]],
              device float4* out [[buffer(2)]], constant half4x4* halves [[buffer(3)]]) {
    float4x4 a(1.0), b = m[0];
    a[0] = float4(1, 2, 3, 4);
    a[1].x = 2;
    a[2][3] = 4;
    m[1][0] = a[1];
    m[1][2].xy = a[0].zw;
    m[2] = a * b;
    m[3] = transpose(a) + b * 2.0f - m[1];
    out[0] = a * out[1] + out[2] * b;
    float3x3 d = c;
    out[3] = float4(d[0] * c[1], determinant(d));
    float2x4 e(float4(1), float4(2));
    float2x2 f(1, 2, 3, 4);
    out[4] = e[1] + float4(f[0], f[1]);
    float4x4 g = float4x4(halves[0]);
    out[5] = g[3];
    thread float4& column = a[3];
    column = 0;
    device float4& stored = m[4][0];
    stored = column;
    if (any(a[0] != b[0])) out[6] = halves[1][0].x;
}
