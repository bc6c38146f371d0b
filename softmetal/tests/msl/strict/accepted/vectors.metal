#include <metal_stdlib>
using namespace metal;

// Conversions, components and operators of vectors.
constexpr constant float4 kWeights[2] = {float4(1, 2, 3, 4), {5, 6, 7, 8}};
constexpr constant float2 kHalf = 0.5;
static_assert((kWeights[0] + 1).w == 5 && (kHalf * kHalf).x < 0.3 && !(bool2(true, false) && true).y, "");
struct Packed {
    packed_float3 p;
    packed_half4 h;
    float w;
};

kernel void k(device float4* out [[buffer(0)]], device const int4* in [[buffer(1)]],
              constant Packed& packed [[buffer(2)]], device packed_float3* points [[buffer(3)]],
              device uchar4* bytes [[buffer(4)]], ushort2 id [[thread_position_in_grid]]) {
    float4 v = 1, w = float4(in[0]), u(v.xy, w.zw);
    float4 t = {1, 2, 3, 4};
    half4 h = half4(v);
    v = float4(h) + static_cast<float4>(in[1]) + (float4)in[2];
    v.x = 1;
    v.yz = w.xy;
    v.rgb *= 2;
    v.wzyx = v;
    v += 2 * w - t / 4;
    v[0] = v[1] + v.w;
    v[id.x & 3]++;
    out[0] = v * kWeights[0] + kWeights[1].x;
    out[1].xy = kHalf;
    out[1].z += 1;
    out[2] = float4(packed.p, packed.w) + float4(packed.h);
    float3 point = points[0];
    points[1] = point.zyx;
    points[2].x = packed.p.y;
    points[3] = packed.p * 2 + points[0];
    int4 i = in[0] << 2;
    i = (i & 15) | ~in[1];
    i %= 7;
    bool4 less = v < w;
    out[3] = select(v, w, less && !(i == 0));
    if (any(less) || all(v == w)) out[4] = as_type<float4>(i);
    bytes[0] = uchar4(clamp(v * 255 + 0.5, 0.0, 255.0));
    out[5] = float4(bytes[0]) / 255;
    h = h * 0.5 + 2.0h;
    out[6] = float4(float3(h.xyz), 1.0f);
    vec<float, 2> pair = vec<float, 2>(id);
    out[7] = float4(pair, pair.yx);
    float4 many[2] = {v, out[8]};
    out[9] = many[0].xxyy + many[1];
    const float4 fixed = v;
    out[10] = fixed.w > 0 ? out[11] : fixed;
    out[11] = -fixed;
    thread float4* p = &many[1];
    p->x = fixed[2];
}
