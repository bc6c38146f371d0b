#pragma once
// Quantised block layouts exactly as ggml files store them, and the bit unpacking that every
// reader of them shares. Scales named `d`, `dmin`, `m` are half floats kept as their bits.
//
// Value j of a 32-wide block with 4-bit quants lies in the low nibble of byte j (j < 16) or the
// high nibble of byte j-16. The 256-wide types order their quants in runs that are described at
// each struct; `value` there means the index inside the block.

#include <cstddef>
#include <cstdint>

namespace minfer {

constexpr int kBlockValues = 32;        // values that share a block in the legacy types
constexpr int kSuperBlockValues = 256;  // and in the K and IQ4_XS types

struct BlockQ4_0 {  // x = d * (q - 8)
    uint16_t d;
    uint8_t quants[16];
};
struct BlockQ4_1 {  // x = d * q + m
    uint16_t d, m;
    uint8_t quants[16];
};
struct BlockQ5_0 {  // x = d * (q - 16); bit 4 of value j is bit j of the 32 high bits
    uint16_t d;
    uint8_t high_bits[4];
    uint8_t quants[16];
};
struct BlockQ5_1 {  // x = d * q + m
    uint16_t d, m;
    uint8_t high_bits[4];
    uint8_t quants[16];
};
struct BlockQ8_0 {  // x = d * q
    uint16_t d;
    int8_t quants[32];
};

// 16 groups of 16 values: x = d * (scales[g] & 15) * q - dmin * (scales[g] >> 4).
// Value 128*h + 32*s + i has its two bits in quants[32*h + i] >> 2*s.
struct BlockQ2_K {
    uint8_t scales[16];
    uint8_t quants[64];
    uint16_t d, dmin;
};
// 16 groups of 16 values: x = d * scale[g] * (q - (high bit ? 0 : 4)). Two low bits as in Q2_K;
// the high bit of value 32*b + i is bit b of high_mask[i].
struct BlockQ3_K {
    uint8_t high_mask[32];
    uint8_t quants[64];
    uint8_t scales[12];  // unpack_scales_q3_k
    uint16_t d;
};
// 8 groups of 32 values: x = d * scale[g] * q - dmin * min[g]. Value 64*p + i is the low nibble of
// quants[32*p + i] for i < 32, the high nibble of quants[32*p + i - 32] otherwise.
struct BlockQ4_K {
    uint16_t d, dmin;
    uint8_t scales[12];  // unpack_scale_min
    uint8_t quants[128];
};
// As Q4_K with a fifth bit: that of value 32*g + i is bit g of high_bits[i].
struct BlockQ5_K {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t high_bits[32];
    uint8_t quants[128];
};
// 16 groups of 16 values: x = d * scales[g] * (q - 32). Value 128*h + 32*s + i has its low four
// bits in quants[64*h + 32*(s & 1) + i] (low nibble for s < 2) and its high two in
// high_bits[32*h + i] >> 2*s.
struct BlockQ6_K {
    uint8_t quants[128];
    uint8_t high_bits[64];
    int8_t scales[16];
    uint16_t d;
};
// Activations multiplied with the K types: x = d * q. sums[g] adds the 16 quants of group g.
struct BlockQ8_K {
    float d;
    int8_t quants[256];
    int16_t sums[16];
};
struct BlockIQ4_NL {  // x = d * kIQ4Values[q]
    uint16_t d;
    uint8_t quants[16];
};
// 8 groups of 32 values, each nibble-ordered like a 32-wide block: x = d * scale[g] * table[q],
// scale[g] = (4 bits of scales_low | 2 bits of scales_high << 4) - 32.
struct BlockIQ4_XS {
    uint16_t d;
    uint16_t scales_high;
    uint8_t scales_low[4];
    uint8_t quants[128];
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 &&
              sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockQ2_K) == 84 &&
              sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 &&
              sizeof(BlockQ6_K) == 210 && sizeof(BlockQ8_K) == 292 && sizeof(BlockIQ4_NL) == 18 &&
              sizeof(BlockIQ4_XS) == 136);

// The sixteen levels of the IQ4 types.
inline constexpr int8_t kIQ4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

struct ScaleMin {
    uint8_t scale, min;  // 0 … 63
};

// Group 0 … 7 of the 12 packed bytes of Q4_K and Q5_K. Groups 0-3 sit in the low six bits of bytes
// 0-3 (scale) and 4-7 (min); groups 4-7 have their low four bits in bytes 8-11 (scale low nibble,
// min high nibble) and their high two in the top of bytes 0-3 and 4-7.
constexpr ScaleMin unpack_scale_min(const uint8_t (&packed)[12], int group) {
    if (group < 4)
        return {static_cast<uint8_t>(packed[group] & 63),
                static_cast<uint8_t>(packed[group + 4] & 63)};
    const int g = group - 4;
    return {static_cast<uint8_t>((packed[g + 8] & 15) | (packed[g] >> 6 << 4)),
            static_cast<uint8_t>((packed[g + 8] >> 4) | (packed[g + 4] >> 6 << 4))};
}

// Writes group `group`; the 12 bytes start as zeros.
constexpr void pack_scale_min(uint8_t (&packed)[12], int group, ScaleMin value) {
    if (group < 4) {
        packed[group] = static_cast<uint8_t>(packed[group] | value.scale);
        packed[group + 4] = static_cast<uint8_t>(packed[group + 4] | value.min);
        return;
    }
    const int g = group - 4;
    packed[g + 8] = static_cast<uint8_t>((value.scale & 15) | (value.min & 15) << 4);
    packed[g] = static_cast<uint8_t>(packed[g] | value.scale >> 4 << 6);
    packed[g + 4] = static_cast<uint8_t>(packed[g + 4] | value.min >> 4 << 6);
}

// The 16 scales of Q3_K, -32 … 31. Scale g has its low four bits in byte g % 8 (low nibble for
// g < 8) and its high two in byte 8 + g % 4, at bit 2 * (g / 4).
constexpr void unpack_scales_q3_k(const uint8_t (&packed)[12], int8_t (&scales)[16]) {
    for (int g = 0; g < 16; ++g) {
        const int low = (packed[g % 8] >> (g / 8 * 4)) & 15;
        const int high = (packed[8 + g % 4] >> (g / 4 * 2)) & 3;
        scales[g] = static_cast<int8_t>((low | high << 4) - 32);
    }
}

// Scale of group 0 … 7 of IQ4_XS, -32 … 31.
constexpr int unpack_scale_iq4_xs(const BlockIQ4_XS& block, int group) {
    const int low = (block.scales_low[group / 2] >> (group % 2 * 4)) & 15;
    const int high = (block.scales_high >> (2 * group)) & 3;
    return (low | high << 4) - 32;
}

}  // namespace minfer
