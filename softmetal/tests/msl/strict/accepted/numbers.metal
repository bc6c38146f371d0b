#include <metal_stdlib>
using namespace metal;

// Mathematics in all its families; half and bfloat.
kernel void k(device float* out [[buffer(0)]], device half* h [[buffer(1)]],
              device bfloat* b [[buffer(2)]], device int* n [[buffer(3)]]) {
    float x = out[0], whole, cosine;
    int exponent;
    out[0] = exp(x) + exp2(x) + log(x) + sqrt(x) + rsqrt(x) + pow(x, 2) + fma(x, x, 1.0f);
    out[1] = fast::sin(x) + precise::cos(x) + metal::tanh(x) + metal::precise::exp(x);
    out[2] = modf(x, whole) + frexp(x, exponent) + sincos(x, cosine) + ldexp(x, 3);
    out[3] = max(x, 0.0f) + min3(x, 1.0f, 2.0f) + clamp(x, -1.0f, 1.0f) + mix(x, 1.0f, 0.5f);
    out[4] = isnan(x) || isinf(x) || signbit(x) ? sign(x) : step(0.5f, x) + saturate(x);
    float3 v(x), w(1, 2, 3);
    out[5] = dot(v, w) + length(cross(v, w)) + distance(v, normalize(w));
    out[6] = floor(x) + ceil(x) + round(x) + trunc(x) + fract(x) + abs(x) + fabs(x) + copysign(x, -1.0f);
    float4 u = max(float4(x), 0.0f) + exp(float4(x)) + select(float4(0), float4(1), bool4(true));
    out[7] = u.x;
    h[0] = h[1] * 2.0h + exp(h[2]) + half(x) + x;
    h[1] = x;
    b[0] = bfloat(x);
    b[1] = b[0] * b[2] + 1.0bf;
    b[2] = static_cast<bfloat>(h[0]);
    out[8] = b[1] + float(b[2]) * 2.0 + h[3];
    h[4] = half(b[0]);
    n[0] = popcount(n[1]) + clz(n[2]) + abs(n[3]) + max(n[4], 3) + mulhi(n[5], n[6]);
    n[1] = int(extract_bits(uint(n[2]), 4, 8)) + rotate(n[3], 2) + n[4] / 3 + (n[5] >> 2);
    uint packed = pack_float_to_unorm4x8(u);
    out[9] = unpack_unorm4x8_to_float(packed).w + as_type<half2>(packed).y;
    long big = 1l << 40;
    ulong unsigned_big = ulong(big) + 0xfful;
    n[2] = int(unsigned_big >> 8);
    ushort small = ushort(n[3]);
    small += 1;
    char c = char(n[4]);
    n[3] = small * c;
}
