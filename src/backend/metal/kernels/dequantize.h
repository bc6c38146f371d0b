// Stored weights to f32, sixteen at a time: what row gathers and matrix products read weights by.
// Only for kernels. The formulas are those of tensor/blocks.h, and so are the bits of the results:
// a quant that is not shifted down to bit 0 is exact as a float, and its scale is divided by the
// same power of two.
#pragma once
#include <metal_stdlib>
#include "packed.h"
using namespace metal;

namespace dequant {

// Values 16 * piece ... 16 * piece + 15 of a block, in order.
struct Weights16 {
    float4 part[4];
};

// The bytes of 16 quants as words. Blocks of odd multiples of two bytes are aligned to two.
static inline uint4 words_by_2(device const uchar* at) {
    device const packed_ushort4* const halves = reinterpret_cast<device const packed_ushort4*>(at);
    return uint4(as_type<uint2>(ushort4(halves[0])), as_type<uint2>(ushort4(halves[1])));
}
static inline float half_at(device const uchar* at) {
    return float(*reinterpret_cast<device const half*>(at));
}

// Byte i of each word, still at its place: 2^(8 * i) times its value.
static inline float4 bytes_in_place(uint word) {
    return float4(float(word & 0xffu), float(word & 0xff00u), float(word & 0xff0000u),
                  float(word & 0xff000000u));
}
// What undoes that, and what puts an offset there.
constant constexpr float kByteUnit[4] = {1.0f, 0x1p-8f, 0x1p-16f, 0x1p-24f};
static inline float4 byte_units() {
    return float4(kByteUnit[0], kByteUnit[1], kByteUnit[2], kByteUnit[3]);
}
static inline float4 at_bytes(float value) {
    return value * float4(1.0f, 0x1p8f, 0x1p16f, 0x1p24f);
}

// scale * (q - offset): the difference is exact.
static inline Weights16 scaled(uint4 quants, float offset, float scale) {
    const float4 offsets = at_bytes(offset), scales = scale * byte_units();
    Weights16 out;
    out.part[0] = (bytes_in_place(quants.x) - offsets) * scales;
    out.part[1] = (bytes_in_place(quants.y) - offsets) * scales;
    out.part[2] = (bytes_in_place(quants.z) - offsets) * scales;
    out.part[3] = (bytes_in_place(quants.w) - offsets) * scales;
    return out;
}
// scale * q + shift, rounded twice.
static inline Weights16 scaled_and_shifted(uint4 quants, float scale, float shift) {
    const float4 scales = scale * byte_units();
    Weights16 out;
    out.part[0] = bytes_in_place(quants.x) * scales + shift;
    out.part[1] = bytes_in_place(quants.y) * scales + shift;
    out.part[2] = bytes_in_place(quants.z) * scales + shift;
    out.part[3] = bytes_in_place(quants.w) * scales + shift;
    return out;
}

static inline uint4 nibbles(uint4 words, bool high) {
    return words >> (high ? 4u : 0u) & 0x0f0f0f0fu;
}
// Bit i of the 16 becomes bit 4 of byte i. Copies of four bits, 7 apart, have bit i of copy i at
// the bottom of byte i.
static inline uint4 fifth_bits(ushort bits) {
    const uint4 fours = uint4(bits & 15u, bits >> 4 & 15u, bits >> 8 & 15u, bits >> 12 & 15u);
    return (fours * 0x00204081u & 0x01010101u) << 4;
}

struct Q4_0 {
    static constant constexpr uint kBlockValues = 32, kBlockBytes = 18;
    static Weights16 load(device const uchar* block, uint piece) {
        return scaled(nibbles(words_by_2(block + 2), piece != 0), 8.0f, half_at(block));
    }
};

struct Q4_1 {
    static constant constexpr uint kBlockValues = 32, kBlockBytes = 20;
    static Weights16 load(device const uchar* block, uint piece) {
        return scaled_and_shifted(nibbles(load_uint4(block + 4), piece != 0), half_at(block),
                                  half_at(block + 2));
    }
};

struct Q5_0 {
    static constant constexpr uint kBlockValues = 32, kBlockBytes = 22;
    static Weights16 load(device const uchar* block, uint piece) {
        const ushort high = reinterpret_cast<device const ushort*>(block + 2)[piece];
        const uint4 low = nibbles(words_by_2(block + 6), piece != 0);
        return scaled(low | fifth_bits(high), 16.0f, half_at(block));
    }
};

struct Q5_1 {
    static constant constexpr uint kBlockValues = 32, kBlockBytes = 24;
    static Weights16 load(device const uchar* block, uint piece) {
        const ushort high = reinterpret_cast<device const ushort*>(block + 4)[piece];
        const uint4 low = nibbles(load_uint4(block + 8), piece != 0);
        return scaled_and_shifted(low | fifth_bits(high), half_at(block), half_at(block + 2));
    }
};

struct Q8_0 {
    static constant constexpr uint kBlockValues = 32, kBlockBytes = 34;
    // A signed byte with its top bit turned over is 128 more, unsigned.
    static Weights16 load(device const uchar* block, uint piece) {
        const uint4 quants = words_by_2(block + 2 + 16 * piece) ^ 0x80808080u;
        return scaled(quants, 128.0f, half_at(block));
    }
};

// Scale and minimum of group 0 ... 7 among the 12 bytes that Q4_K and Q5_K pack them in.
static inline uint2 scale_and_min(device const uchar* packed, uint group) {
    if (group < 4) return uint2(packed[group], packed[group + 4]) & 63u;
    const uint low = packed[group + 4];
    const uint2 high = uint2(packed[group - 4], packed[group]) >> 6 << 4;
    return uint2(low & 15u, low >> 4) | high;
}

struct Q4_K {
    static constant constexpr uint kBlockValues = 256, kBlockBytes = 144;
    static Weights16 load(device const uchar* block, uint piece) {
        const uint group = piece / 2;
        const float2 packed = float2(scale_and_min(block + 4, group));
        const uint4 words = load_uint4(block + 16 + 32 * (group / 2) + 16 * (piece % 2));
        return scaled_and_shifted(nibbles(words, group % 2 != 0), half_at(block) * packed.x,
                                  -(half_at(block + 2) * packed.y));
    }
};

struct Q5_K {
    static constant constexpr uint kBlockValues = 256, kBlockBytes = 176;
    static Weights16 load(device const uchar* block, uint piece) {
        const uint group = piece / 2, start = 16 * (piece % 2);
        const float2 packed = float2(scale_and_min(block + 4, group));
        const uint4 high = (load_uint4(block + 16 + start) >> group & 0x01010101u) << 4;
        const uint4 low =
            nibbles(load_uint4(block + 48 + 32 * (group / 2) + start), group % 2 != 0);
        return scaled_and_shifted(low | high, half_at(block) * packed.x,
                                  -(half_at(block + 2) * packed.y));
    }
};

struct Q6_K {
    static constant constexpr uint kBlockValues = 256, kBlockBytes = 210;
    static Weights16 load(device const uchar* block, uint piece) {
        const uint half_block = piece / 8, stripe = piece / 2 % 4, start = 16 * (piece % 2);
        const uint4 low =
            nibbles(words_by_2(block + 64 * half_block + 32 * (stripe % 2) + start), stripe >= 2);
        const uint4 high = words_by_2(block + 128 + 32 * half_block + start) >> (2 * stripe);
        const float scale = float(reinterpret_cast<device const char*>(block + 192)[piece]);
        return scaled(low | (high & 0x03030303u) << 4, 32.0f, half_at(block + 208) * scale);
    }
};

// Rows of the float types have any width; sixteen values of one count as a block here.
struct F16 {
    static constant constexpr uint kBlockValues = 16, kBlockBytes = 32;
    static Weights16 load(device const uchar* block, uint) {
        device const packed_half4* const values =
            reinterpret_cast<device const packed_half4*>(block);
        Weights16 out;
#pragma unroll
        for (uint i = 0; i < 4; ++i) out.part[i] = float4(half4(values[i]));
        return out;
    }
    static float one(device const uchar* block, uint i) { return half_at(block + 2 * i); }
};

struct BF16 {
    static constant constexpr uint kBlockValues = 16, kBlockBytes = 32;
    // The upper half of a float: exact for every value, NaN included.
    static Weights16 load(device const uchar* block, uint) {
        device const packed_ushort4* const bits =
            reinterpret_cast<device const packed_ushort4*>(block);
        Weights16 out;
#pragma unroll
        for (uint i = 0; i < 4; ++i) out.part[i] = as_type<float4>(uint4(ushort4(bits[i])) << 16);
        return out;
    }
    static float one(device const uchar* block, uint i) {
        return as_type<float>(uint(reinterpret_cast<device const ushort*>(block)[i]) << 16);
    }
};

struct F32 {
    static constant constexpr uint kBlockValues = 16, kBlockBytes = 64;
    static Weights16 load(device const uchar* block, uint) {
        device const float* const values = reinterpret_cast<device const float*>(block);
        Weights16 out;
#pragma unroll
        for (uint i = 0; i < 4; ++i) out.part[i] = load4(values + 4 * i);
        return out;
    }
    static float one(device const uchar* block, uint i) {
        return reinterpret_cast<device const float*>(block)[i];
    }
};

template <typename Type>
static constexpr bool has_any_width() {
    return Type::kBlockValues == 16;
}

// The first `count` values, then zeros.
template <typename Type>
static inline Weights16 load_some(device const uchar* block, uint count) {
    Weights16 out;
#pragma unroll
    for (uint i = 0; i < 16; ++i) out.part[i / 4][i % 4] = i < count ? Type::one(block, i) : 0.0f;
    return out;
}

}  // namespace dequant
