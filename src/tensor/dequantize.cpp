#include "tensor/dequantize.h"

#include <cstring>

#include "base/result.h"
#include "tensor/blocks.h"
#include "tensor/half.h"

namespace minfer {
namespace {

// Two nibbles a byte: values 0-15 are the low ones, 16-31 the high ones.
int nibble(const uint8_t* quants, int i) { return i < 16 ? quants[i] & 15 : quants[i - 16] >> 4; }

int high_bit(const uint8_t (&bits)[4], int i) { return (bits[i / 8] >> (i % 8)) & 1; }

void decode(const BlockQ4_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block.quants, i) - 8);
}

void decode(const BlockQ4_1& block, float* out) {
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block.quants, i)) + m;
}

void decode(const BlockQ5_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) {
        const int q = nibble(block.quants, i) | high_bit(block.high_bits, i) << 4;
        out[i] = d * static_cast<float>(q - 16);
    }
}

void decode(const BlockQ5_1& block, float* out) {
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int i = 0; i < 32; ++i) {
        const int q = nibble(block.quants, i) | high_bit(block.high_bits, i) << 4;
        out[i] = d * static_cast<float>(q) + m;
    }
}

void decode(const BlockQ8_0& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(block.quants[i]);
}

void decode(const BlockQ2_K& block, float* out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int group = 0; group < 16; ++group) {
        const float scale = d * static_cast<float>(block.scales[group] & 15);
        const float min = dmin * static_cast<float>(block.scales[group] >> 4);
        const auto* const quants = block.quants + group / 8 * 32 + group % 2 * 16;
        const int shift = group / 2 % 4 * 2;
        for (int i = 0; i < 16; ++i)
            out[16 * group + i] = scale * static_cast<float>((quants[i] >> shift) & 3) - min;
    }
}

void decode(const BlockQ3_K& block, float* out) {
    const float d = f16_to_f32(block.d);
    int8_t scales[16];
    unpack_scales_q3_k(block.scales, scales);
    for (int group = 0; group < 16; ++group) {
        const float scale = d * static_cast<float>(scales[group]);
        const auto* const quants = block.quants + group / 8 * 32 + group % 2 * 16;
        const auto* const mask = block.high_mask + group % 2 * 16;
        const int shift = group / 2 % 4 * 2;
        for (int i = 0; i < 16; ++i) {
            const int offset = (mask[i] >> (group / 2)) & 1 ? 0 : 4;
            out[16 * group + i] = scale * static_cast<float>(((quants[i] >> shift) & 3) - offset);
        }
    }
}

void decode(const BlockQ4_K& block, float* out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int group = 0; group < 8; ++group) {
        const auto packed = unpack_scale_min(block.scales, group);
        const float scale = d * static_cast<float>(packed.scale);
        const float min = dmin * static_cast<float>(packed.min);
        const auto* const quants = block.quants + group / 2 * 32;
        const int shift = group % 2 * 4;
        for (int i = 0; i < 32; ++i)
            out[32 * group + i] = scale * static_cast<float>((quants[i] >> shift) & 15) - min;
    }
}

void decode(const BlockQ5_K& block, float* out) {
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int group = 0; group < 8; ++group) {
        const auto packed = unpack_scale_min(block.scales, group);
        const float scale = d * static_cast<float>(packed.scale);
        const float min = dmin * static_cast<float>(packed.min);
        const auto* const quants = block.quants + group / 2 * 32;
        const int shift = group % 2 * 4;
        for (int i = 0; i < 32; ++i) {
            const int q = ((quants[i] >> shift) & 15) | ((block.high_bits[i] >> group) & 1) << 4;
            out[32 * group + i] = scale * static_cast<float>(q) - min;
        }
    }
}

void decode(const BlockQ6_K& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int group = 0; group < 16; ++group) {
        const float scale = d * static_cast<float>(block.scales[group]);
        const int half = group / 8, stripe = group / 2 % 4, start = group % 2 * 16;
        const auto* const low = block.quants + 64 * half + 32 * (stripe & 1) + start;
        const auto* const high = block.high_bits + 32 * half + start;
        const int low_shift = stripe / 2 * 4, high_shift = stripe * 2;
        for (int i = 0; i < 16; ++i) {
            const int q = ((low[i] >> low_shift) & 15) | ((high[i] >> high_shift) & 3) << 4;
            out[16 * group + i] = scale * static_cast<float>(q - 32);
        }
    }
}

void decode(const BlockQ8_K& block, float* out) {
    for (int i = 0; i < 256; ++i) out[i] = block.d * static_cast<float>(block.quants[i]);
}

void decode(const BlockIQ4_NL& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int i = 0; i < 32; ++i)
        out[i] = d * static_cast<float>(kIQ4Values[nibble(block.quants, i)]);
}

void decode(const BlockIQ4_XS& block, float* out) {
    const float d = f16_to_f32(block.d);
    for (int group = 0; group < 8; ++group) {
        const float scale = d * static_cast<float>(unpack_scale_iq4_xs(block, group));
        const auto* const quants = block.quants + 16 * group;
        for (int i = 0; i < 32; ++i)
            out[32 * group + i] = scale * static_cast<float>(kIQ4Values[nibble(quants, i)]);
    }
}

// A block is copied out of the file before it is read: the row may lie at any address.
template <class Block, int block_values>
void decode_row(const std::byte* row, float* out, size_t values) {
    for (size_t i = 0; i < values; i += block_values, row += sizeof(Block)) {
        Block block;
        std::memcpy(&block, row, sizeof(Block));
        decode(block, out + i);
    }
}

template <float (*convert)(uint16_t)>
void widen_row(const std::byte* row, float* out, size_t values) {
    for (size_t i = 0; i < values; ++i) {
        uint16_t stored;
        std::memcpy(&stored, row + 2 * i, 2);
        out[i] = convert(stored);
    }
}

void copy_row(const std::byte* row, float* out, size_t values) {
    std::memcpy(out, row, values * sizeof(float));
}

using RowDecoder = void (*)(const std::byte* row, float* out, size_t values);
struct Decoder {
    DType type;
    RowDecoder row;
};

constexpr Decoder kDecoders[] = {
    {DType::F32, copy_row},
    {DType::F16, widen_row<f16_to_f32>},
    {DType::BF16, widen_row<bf16_to_f32>},
    {DType::Q4_0, decode_row<BlockQ4_0, 32>},
    {DType::Q4_1, decode_row<BlockQ4_1, 32>},
    {DType::Q5_0, decode_row<BlockQ5_0, 32>},
    {DType::Q5_1, decode_row<BlockQ5_1, 32>},
    {DType::Q8_0, decode_row<BlockQ8_0, 32>},
    {DType::Q2_K, decode_row<BlockQ2_K, 256>},
    {DType::Q3_K, decode_row<BlockQ3_K, 256>},
    {DType::Q4_K, decode_row<BlockQ4_K, 256>},
    {DType::Q5_K, decode_row<BlockQ5_K, 256>},
    {DType::Q6_K, decode_row<BlockQ6_K, 256>},
    {DType::Q8_K, decode_row<BlockQ8_K, 256>},
    {DType::IQ4_NL, decode_row<BlockIQ4_NL, 32>},
    {DType::IQ4_XS, decode_row<BlockIQ4_XS, 256>},
};

RowDecoder decoder_of(DType type) {
    for (const auto& decoder : kDecoders)
        if (decoder.type == type) return decoder.row;
    return nullptr;
}

}  // namespace

bool can_dequantize(DType type) { return decoder_of(type) != nullptr; }

void dequantize_row(DType type, const std::byte* row, float* out, size_t values) {
    const auto decode_values = decoder_of(type);
    MINFER_ASSERT(decode_values != nullptr);
    MINFER_ASSERT(values % info(type).block_values == 0);
    decode_values(row, out, values);
}

}  // namespace minfer
