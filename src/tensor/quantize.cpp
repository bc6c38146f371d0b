#include "tensor/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/half.h"
#include "tensor/quantize_k.h"
#include "tensor/rounding.h"

namespace minfer {
namespace {

struct Range {
    float min, max;
};

Range range_of(const float* in) {
    Range range{in[0], in[0]};
    for (int i = 1; i < kBlockValues; ++i) {
        if (in[i] < range.min) range.min = in[i];
        if (in[i] > range.max) range.max = in[i];
    }
    return range;
}

template <class Block>
void store_nibble(Block& block, int i, int q) {
    auto& byte = block.quants[i % 16];
    byte = static_cast<uint8_t>(i < 16 ? q & 15 : byte | (q & 15) << 4);
}

template <class Block>
void store_five_bits(Block& block, int i, int q) {
    store_nibble(block, i, q);
    block.high_bits[i / 8] = static_cast<uint8_t>(block.high_bits[i / 8] | (q >> 4) << (i % 8));
}

// The peak maps to level 0, which lies one step further from the middle than the top level.
bool encode(const float* in, BlockQ4_0& block) {
    const float scale = find_peak(in, kBlockValues).value / -8;
    const float inverse = inverse_or_zero(scale);
    block.d = f32_to_f16(scale);
    for (int i = 0; i < kBlockValues; ++i)
        store_nibble(block, i, truncate(in[i] * inverse + 8.5f, 15));
    return is_finite_half(block.d);
}

bool encode(const float* in, BlockQ4_1& block) {
    const auto [min, max] = range_of(in);
    const float scale = (max - min) / 15;
    const float inverse = inverse_or_zero(scale);
    block.d = f32_to_f16(scale);
    block.m = f32_to_f16(min);
    for (int i = 0; i < kBlockValues; ++i)
        store_nibble(block, i, truncate((in[i] - min) * inverse + 0.5f, 15));
    return is_finite_half(block.d) && is_finite_half(block.m);
}

bool encode(const float* in, BlockQ5_0& block) {
    const float scale = find_peak(in, kBlockValues).value / -16;
    const float inverse = inverse_or_zero(scale);
    block.d = f32_to_f16(scale);
    for (int i = 0; i < kBlockValues; ++i)
        store_five_bits(block, i, truncate(in[i] * inverse + 16.5f, 31));
    return is_finite_half(block.d);
}

bool encode(const float* in, BlockQ5_1& block) {
    const auto [min, max] = range_of(in);
    const float scale = (max - min) / 31;
    const float inverse = inverse_or_zero(scale);
    block.d = f32_to_f16(scale);
    block.m = f32_to_f16(min);
    for (int i = 0; i < kBlockValues; ++i)
        store_five_bits(block, i, truncate((in[i] - min) * inverse + 0.5f, 31));
    return is_finite_half(block.d) && is_finite_half(block.m);
}

// Ties away from zero, unlike every other type.
bool encode(const float* in, BlockQ8_0& block) {
    const float scale = find_peak(in, kBlockValues).magnitude / 127;
    const float inverse = inverse_or_zero(scale);
    block.d = f32_to_f16(scale);
    for (int i = 0; i < kBlockValues; ++i)
        block.quants[i] = static_cast<int8_t>(std::round(in[i] * inverse));
    return is_finite_half(block.d);
}

// No type reaches further (Q6_K: the largest half times its largest scale and quant), and below it
// no sum of an encoder overflows into an answer that looks right.
constexpr float kLargest = 65504.f * 128 * 32;

template <class Block, int block_values>
Result<> encode_row(DType type, const float* in, std::byte* out, size_t values) {
    for (size_t i = 0; i < values; i += block_values, out += sizeof(Block)) {
        for (size_t j = i; j < i + block_values; ++j)
            if (!std::isfinite(in[j]))
                return fail(Fault::BadInput, "value {} is {}, {} holds finite values only", j,
                            in[j], name(type));
        Block block{};
        const float reach = find_peak(in + i, block_values).magnitude;
        if (reach > kLargest || !encode(in + i, block))
            return fail(Fault::BadInput,
                        "values {} to {} reach a magnitude of {}, too large for {}", i,
                        i + block_values - 1, reach, name(type));
        std::memcpy(out, &block, sizeof(Block));
    }
    return {};
}

template <uint16_t (*convert)(float)>
Result<> narrow_row(DType, const float* in, std::byte* out, size_t values) {
    for (size_t i = 0; i < values; ++i) {
        const uint16_t stored = convert(in[i]);
        std::memcpy(out + 2 * i, &stored, 2);
    }
    return {};
}

Result<> copy_row(DType, const float* in, std::byte* out, size_t values) {
    std::memcpy(out, in, values * sizeof(float));
    return {};
}

using RowEncoder = Result<> (*)(DType, const float* in, std::byte* out, size_t values);
struct Encoder {
    DType type;
    RowEncoder row;
};

constexpr Encoder kEncoders[] = {
    {DType::F32, copy_row},
    {DType::F16, narrow_row<f32_to_f16>},
    {DType::BF16, narrow_row<f32_to_bf16>},
    {DType::Q4_0, encode_row<BlockQ4_0, 32>},
    {DType::Q4_1, encode_row<BlockQ4_1, 32>},
    {DType::Q5_0, encode_row<BlockQ5_0, 32>},
    {DType::Q5_1, encode_row<BlockQ5_1, 32>},
    {DType::Q8_0, encode_row<BlockQ8_0, 32>},
    {DType::Q4_K, encode_row<BlockQ4_K, 256>},
    {DType::Q5_K, encode_row<BlockQ5_K, 256>},
    {DType::Q6_K, encode_row<BlockQ6_K, 256>},
};

RowEncoder encoder_of(DType type) {
    for (const auto& encoder : kEncoders)
        if (encoder.type == type) return encoder.row;
    return nullptr;
}

}  // namespace

bool can_quantize(DType type) { return encoder_of(type) != nullptr; }

Result<> quantize_row(DType type, const float* in, std::byte* out, size_t values) {
    const auto encode_values = encoder_of(type);
    MINFER_ASSERT(encode_values != nullptr);
    MINFER_ASSERT(values % info(type).block_values == 0);
    return encode_values(type, in, out, values);
}

BlockQ8_K quantize_block_q8_k(const float* in) {
    BlockQ8_K block{};
    const float largest = find_peak(in, kSuperBlockValues).value;
    const float ratio = largest != 0 ? -127 / largest : 0;
    const float inverse = std::isfinite(ratio) ? ratio : 0;
    block.d = inverse_or_zero(inverse);
    for (int i = 0; i < kSuperBlockValues; ++i) {
        block.quants[i] = static_cast<int8_t>(round_even(inverse * in[i], -128, 127));
        block.sums[i / 16] = static_cast<int16_t>(block.sums[i / 16] + block.quants[i]);
    }
    return block;
}

}  // namespace minfer
