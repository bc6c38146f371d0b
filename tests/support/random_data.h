#pragma once
// Reproducible operands: floats, and rows of any weight type with every bit pattern of the quants.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/blocks.h"
#include "tensor/dequantize.h"
#include "tensor/dtype.h"
#include "tensor/half.h"

namespace minfer::test {

// Standard normal, times `scale`.
inline std::vector<float> random_floats(size_t count, uint32_t seed, float scale = 1) {
    auto engine = std::mt19937(seed);
    auto normal = std::normal_distribution<float>(0, scale);
    auto values = std::vector<float>(count);
    for (auto& value : values) value = normal(engine);
    return values;
}

// `values` elements of `type`: random bits with block scales of ordinary size.
inline std::vector<std::byte> random_rows(DType type, size_t values, uint32_t seed) {
    auto engine = std::mt19937(seed);
    auto normal = std::normal_distribution<float>(0, 1);
    auto bytes = std::vector<std::byte>(row_bytes(type, values));
    for (auto& byte : bytes) byte = static_cast<std::byte>(engine());
    const auto each = [&](auto block, auto set) {
        for (size_t at = 0; at < bytes.size(); at += sizeof block) {
            std::memcpy(&block, bytes.data() + at, sizeof block);
            set(block);
            std::memcpy(bytes.data() + at, &block, sizeof block);
        }
    };
    const auto scale = [&] { return f32_to_f16(0.02f * normal(engine)); };
    const auto set_d = [&](auto& block) { block.d = scale(); };
    const auto set_d_m = [&](auto& block) { block.d = scale(), block.m = scale(); };
    const auto set_d_dmin = [&](auto& block) { block.d = scale(), block.dmin = scale(); };
    switch (type) {
        case DType::F32:
            each(float(), [&](float& x) { x = normal(engine); });
            break;
        case DType::F16:
            each(uint16_t(), [&](uint16_t& x) { x = f32_to_f16(normal(engine)); });
            break;
        case DType::BF16:
            each(uint16_t(), [&](uint16_t& x) { x = f32_to_bf16(normal(engine)); });
            break;
        case DType::Q4_0:
            each(BlockQ4_0(), set_d);
            break;
        case DType::Q4_1:
            each(BlockQ4_1(), set_d_m);
            break;
        case DType::Q5_0:
            each(BlockQ5_0(), set_d);
            break;
        case DType::Q5_1:
            each(BlockQ5_1(), set_d_m);
            break;
        case DType::Q8_0:
            each(BlockQ8_0(), set_d);
            break;
        case DType::Q2_K:
            each(BlockQ2_K(), set_d_dmin);
            break;
        case DType::Q3_K:
            each(BlockQ3_K(), set_d);
            break;
        case DType::Q4_K:
            each(BlockQ4_K(), set_d_dmin);
            break;
        case DType::Q5_K:
            each(BlockQ5_K(), set_d_dmin);
            break;
        case DType::Q6_K:
            each(BlockQ6_K(), set_d);
            break;
        case DType::IQ4_NL:
            each(BlockIQ4_NL(), set_d);
            break;
        case DType::IQ4_XS:
            each(BlockIQ4_XS(), set_d);
            break;
        default:
            bytes.clear();
            break;
    }
    return bytes;
}

// All elements of rows stored as `type`.
inline std::vector<float> dequantized(DType type, const std::vector<std::byte>& rows) {
    const auto values = rows.size() / info(type).block_bytes * info(type).block_values;
    auto out = std::vector<float>(values);
    dequantize_row(type, rows.data(), out.data(), values);
    return out;
}

}  // namespace minfer::test
