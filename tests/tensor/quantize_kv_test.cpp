#include "tensor/quantize_kv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace minfer {
namespace {

using Values = std::array<float, 32>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

BlockQ8_0 encode(const Values& values) { return quantize_kv_block(values.data()); }

Values decode(const BlockQ8_0& block) {
    Values values{};
    dequantize_row(DType::Q8_0, reinterpret_cast<const std::byte*>(&block), values.data(), 32);
    return values;
}

bool all_zero(const BlockQ8_0& block) {
    return std::ranges::all_of(block.quants, [](int8_t q) { return q == 0; });
}

// The definition once more, with the library's rounding and its own half type.
BlockQ8_0 by_definition(const Values& values) {
    float largest = 0;
    for (const float x : values) largest = std::max(largest, std::fabs(x));
    const float d = largest / 127;
    BlockQ8_0 block{.d = std::bit_cast<uint16_t>(static_cast<_Float16>(d)), .quants = {}};
    if (block.d == 0) return block;
    for (size_t i = 0; i < 32; ++i)
        block.quants[i] =
            static_cast<int8_t>(std::clamp(std::nearbyint(values[i] * (1 / d)), -128.f, 127.f));
    return block;
}

void expect_same(const BlockQ8_0& got, const BlockQ8_0& want) {
    EXPECT_EQ(got.d, want.d);
    EXPECT_THAT(got.quants, testing::ElementsAreArray(want.quants));
}

TEST(QuantizeKv, FollowsItsDefinitionAtEveryMagnitude) {
    auto engine = std::mt19937(1);
    auto normal = std::normal_distribution<float>(0, 1);
    for (int exponent = -40; exponent <= 22; ++exponent)
        for (int repeat = 0; repeat < 200; ++repeat) {
            Values values;
            for (auto& x : values) x = std::ldexp(normal(engine), exponent);
            expect_same(encode(values), by_definition(values));
        }
}

TEST(QuantizeKv, RoundsEveryTieToEven) {
    for (int exponent = -14; exponent <= 8; ++exponent) {
        const float d = std::ldexp(1.f, exponent);  // 127 d / 127 and 1 / d are exact
        for (int low = -127; low < 127; ++low) {
            Values values{127 * d, (static_cast<float>(low) + 0.5f) * d};
            const auto block = encode(values);
            ASSERT_EQ(block.d, f32_to_f16(d));
            ASSERT_EQ(block.quants[0], 127);
            ASSERT_EQ(block.quants[1], low + (low & 1)) << low << " at 2^" << exponent;
        }
    }
}

// Two roundings before the last one: the largest magnitude gets past 127 in floats and never in
// quants. Binades only differ by powers of two, which are exact.
TEST(QuantizeKv, ALargestValueOfAnyMantissaIsPlusOrMinus127) {
    Values values{};
    for (uint32_t mantissa = 0; mantissa < 1u << 23; ++mantissa) {
        const auto largest = std::bit_cast<float>(0x40000000u | mantissa);
        values[3] = largest;
        values[17] = -largest;
        const auto block = encode(values);
        ASSERT_EQ(block.quants[3], 127) << largest;
        ASSERT_EQ(block.quants[17], -127) << largest;
    }
}

TEST(QuantizeKv, ErrsByHalfAStepAndTheRoundingOfTheScale) {
    auto engine = std::mt19937(2);
    auto normal = std::normal_distribution<float>(0, 3);
    for (int repeat = 0; repeat < 1000; ++repeat) {
        Values values;
        for (auto& x : values) x = normal(engine);
        const auto block = encode(values);
        const auto back = decode(block);
        const double step = double{f16_to_f32(block.d)};
        for (size_t i = 0; i < 32; ++i)
            EXPECT_NEAR(double{back[i]}, double{values[i]}, step * (0.5 + 127 * 0x1p-11 + 1e-4));
    }
}

TEST(QuantizeKv, ZerosOfBothSignsAreAZeroScaleAndZeros) {
    Values values{};
    for (size_t i = 0; i < 32; i += 2) values[i] = -0.f;
    expect_same(encode(values), BlockQ8_0{});
}

TEST(QuantizeKv, ScalesGoThroughSubnormalHalvesToZeros) {
    for (uint16_t half = 1; half < 0x400; ++half) {
        const float d = f16_to_f32(half);
        const auto block = encode({127 * d, d});
        ASSERT_EQ(block.d, half);
        ASSERT_EQ(block.quants[0], 127);
        ASSERT_EQ(block.quants[1], 1);
    }
    const float middle = 127 * 0x1p-25f;  // half of the smallest scale: even is zero
    expect_same(encode({middle, -middle}), BlockQ8_0{});
    const auto above = encode({std::nextafter(std::nextafter(middle, kInf), kInf)});
    EXPECT_EQ(above.d, 1);
    EXPECT_EQ(above.quants[0], 127);
    for (const float tiny : {0x1p-126f, 0x1p-133f, 0x1p-149f})
        expect_same(encode({tiny, -tiny}), BlockQ8_0{});
}

TEST(QuantizeKv, AScalePastTheLargestHalfIsInfinity) {
    const float largest = std::nextafter(65520.f, 0.f) * 127;
    EXPECT_EQ(encode({largest * (1 - 0x1p-22f)}).d, 0x7bff);
    for (const float x : {65520.f * 127, 3e38f, std::numeric_limits<float>::max()}) {
        const auto block = encode({x, -x});
        EXPECT_EQ(block.d, 0x7c00);
        EXPECT_EQ(block.quants[0], 127);
        const auto back = decode(block);
        EXPECT_EQ(back[0], kInf);
        EXPECT_EQ(back[1], -kInf);
        EXPECT_TRUE(std::isnan(back[2]));
    }
}

TEST(QuantizeKv, AValueThatIsNotFiniteMakesItsBlockNan) {
    for (const float bad : {kInf, -kInf, kNan, -kNan, std::bit_cast<float>(0x7f800001u)})
        for (size_t at = 0; at < 32; ++at) {
            Values values;
            values.fill(1.5f);
            values[at] = bad;
            const auto block = encode(values);
            EXPECT_EQ(block.d, 0x7e00);
            EXPECT_TRUE(all_zero(block));
            for (const float x : decode(block)) EXPECT_TRUE(std::isnan(x));
        }
}

TEST(QuantizeKv, ARowIsItsBlocksWhateverItsAlignment) {
    auto engine = std::mt19937(3);
    auto normal = std::normal_distribution<float>(0, 1);
    auto values = std::vector<float>(96);
    for (auto& x : values) x = normal(engine);
    auto row = std::vector<std::byte>(3 * 34 + 2, std::byte{0x5a});
    quantize_kv_row(values.data(), row.data() + 1, 96);
    for (size_t b = 0; b < 3; ++b) {
        const auto block = quantize_kv_block(values.data() + b * 32);
        EXPECT_EQ(std::memcmp(row.data() + 1 + b * 34, &block, 34), 0);
    }
    EXPECT_EQ(row.front(), std::byte{0x5a});
    EXPECT_EQ(row.back(), std::byte{0x5a});
}

}  // namespace
}  // namespace minfer
