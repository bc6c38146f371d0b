// <metal_pack>: vectors of normalised numbers in the bits of one integer, the first component
// lowest.
#pragma once

namespace metal {
namespace sm {

// A number between 0 (or -1) and 1 as a multiple of 1 / scale; NaN counts as 0.
SM_FN uint to_unorm(float x, float scale) {
    float in_range = x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
    return static_cast<uint>(nearest(in_range * scale));
}
SM_FN uint to_snorm(float x, float scale) {
    float in_range = x > -1.0f ? (x < 1.0f ? x : 1.0f) : (x != x ? 0.0f : -1.0f);
    return static_cast<uint>(static_cast<int>(nearest(in_range * scale)));
}
SM_FN float from_snorm(int bits, float scale) {
    float x = static_cast<float>(bits) / scale;
    return x > -1.0f ? x : -1.0f;
}
SM_FN float srgb_to_linear(float c) {
    return c <= 0.04045f ? c / 12.92f : pow_float((c + 0.055f) / 1.055f, 2.4f);
}
SM_FN float linear_to_srgb(float c) {
    if (!(c > 0.0f)) return 0.0f;
    if (c >= 1.0f) return 1.0f;
    return c < 0.0031308f ? 12.92f * c : fma(1.055f, pow_float(c, 1.0f / 2.4f), -0.055f);
}

}  // namespace sm

// ---- Out of integers, to float and to half

#define SM_UNPACK(from, T, N, bits, ...)                                                        \
    SM_FN vec<float, N> unpack_##from##_to_float(T bits) { return vec<float, N>(__VA_ARGS__); } \
    SM_FN vec<half, N> unpack_##from##_to_half(T bits) {                                        \
        return vec<half, N>(vec<float, N>(__VA_ARGS__));                                        \
    }
#define SM_UNORM8(x, at) static_cast<float>((x) >> (at) & 255u) / 255.0f
#define SM_SNORM8(x, at) sm::from_snorm(static_cast<signed char>((x) >> (at)), 127.0f)
SM_UNPACK(unorm4x8, uint, 4, x, SM_UNORM8(x, 0), SM_UNORM8(x, 8), SM_UNORM8(x, 16),
          SM_UNORM8(x, 24))
SM_UNPACK(snorm4x8, uint, 4, x, SM_SNORM8(x, 0), SM_SNORM8(x, 8), SM_SNORM8(x, 16),
          SM_SNORM8(x, 24))
SM_UNPACK(unorm4x8_srgb, uint, 4, x, sm::srgb_to_linear(SM_UNORM8(x, 0)),
          sm::srgb_to_linear(SM_UNORM8(x, 8)), sm::srgb_to_linear(SM_UNORM8(x, 16)),
          SM_UNORM8(x, 24))
SM_UNPACK(unorm2x16, uint, 2, x, static_cast<float>(x & 0xffffu) / 65535.0f,
          static_cast<float>(x >> 16) / 65535.0f)
SM_UNPACK(snorm2x16, uint, 2, x, sm::from_snorm(static_cast<short>(x), 32767.0f),
          sm::from_snorm(static_cast<short>(x >> 16), 32767.0f))
SM_UNPACK(unorm10a2, uint, 4, x, static_cast<float>(x & 1023u) / 1023.0f,
          static_cast<float>(x >> 10 & 1023u) / 1023.0f,
          static_cast<float>(x >> 20 & 1023u) / 1023.0f, static_cast<float>(x >> 30) / 3.0f)
SM_UNPACK(unorm565, ushort, 3, x, static_cast<float>(x & 31) / 31.0f,
          static_cast<float>(x >> 5 & 63) / 63.0f, static_cast<float>(x >> 11) / 31.0f)
#undef SM_UNPACK
#undef SM_UNORM8
#undef SM_SNORM8

// ---- Into integers, from float and from half

#define SM_PACK(to, R, N, ...)                    \
    SM_FN R pack_float_to_##to(vec<float, N> v) { \
        auto x = v.v;                             \
        return static_cast<R>(__VA_ARGS__);       \
    }                                             \
    SM_FN R pack_half_to_##to(vec<half, N> v) { return pack_float_to_##to(vec<float, N>(v)); }
SM_PACK(unorm4x8, uint, 4,
        sm::to_unorm(x[0], 255.0f) | sm::to_unorm(x[1], 255.0f) << 8 |
            sm::to_unorm(x[2], 255.0f) << 16 | sm::to_unorm(x[3], 255.0f) << 24)
SM_PACK(snorm4x8, uint, 4,
        (sm::to_snorm(x[0], 127.0f) & 255u) | (sm::to_snorm(x[1], 127.0f) & 255u) << 8 |
            (sm::to_snorm(x[2], 127.0f) & 255u) << 16 | sm::to_snorm(x[3], 127.0f) << 24)
SM_PACK(srgb_unorm4x8, uint, 4,
        sm::to_unorm(sm::linear_to_srgb(x[0]), 255.0f) |
            sm::to_unorm(sm::linear_to_srgb(x[1]), 255.0f) << 8 |
            sm::to_unorm(sm::linear_to_srgb(x[2]), 255.0f) << 16 | sm::to_unorm(x[3], 255.0f) << 24)
SM_PACK(unorm2x16, uint, 2, sm::to_unorm(x[0], 65535.0f) | sm::to_unorm(x[1], 65535.0f) << 16)
SM_PACK(snorm2x16, uint, 2,
        (sm::to_snorm(x[0], 32767.0f) & 0xffffu) | sm::to_snorm(x[1], 32767.0f) << 16)
SM_PACK(unorm10a2, uint, 4,
        sm::to_unorm(x[0], 1023.0f) | sm::to_unorm(x[1], 1023.0f) << 10 |
            sm::to_unorm(x[2], 1023.0f) << 20 | sm::to_unorm(x[3], 3.0f) << 30)
SM_PACK(unorm565, ushort, 3,
        sm::to_unorm(x[0], 31.0f) | sm::to_unorm(x[1], 63.0f) << 5 |
            sm::to_unorm(x[2], 31.0f) << 11)
#undef SM_PACK

}  // namespace metal
