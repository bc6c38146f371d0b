#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace minfer {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

bool is_nan(uint16_t half) { return (half & 0x7fff) > 0x7c00; }

// The compiler's own half type is the independent reference.
TEST(Half, WidensEveryValueExactly) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        const float value = f16_to_f32(half);
        if (is_nan(half)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            continue;
        }
        const auto expected = static_cast<float>(std::bit_cast<_Float16>(half));
        ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << bits;
        ASSERT_EQ(f32_to_f16(value), half) << bits;
    }
}

// Between any two neighbouring halves: just below the middle, the middle, just above it.
TEST(Half, RoundsToNearestEvenAroundEveryTie) {
    for (uint16_t half = 0; half < 0x7c00; ++half) {
        const float low = f16_to_f32(half);
        const float high = half == 0x7bff ? 65536.f : f16_to_f32(static_cast<uint16_t>(half + 1));
        const float middle = low + (high - low) / 2;  // exact: a float has 13 bits to spare
        const auto even = static_cast<uint16_t>(half + (half & 1));
        for (const bool negative : {false, true}) {
            const float sign = negative ? -1.f : 1.f;
            const auto bit = static_cast<uint16_t>(negative ? 0x8000 : 0);
            ASSERT_EQ(f32_to_f16(sign * middle), even | bit) << half;
            ASSERT_EQ(f32_to_f16(sign * std::nextafter(middle, 0.f)), half | bit) << half;
            ASSERT_EQ(f32_to_f16(sign * std::nextafter(middle, kInf)), (half + 1) | bit) << half;
        }
    }
}

TEST(Half, AgreesWithTheCompilerOnASweepOfAllFloats) {
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65537 * 7 + 12) {
        const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
        if (std::isnan(value)) continue;
        ASSERT_EQ(f32_to_f16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value)))
            << value;
    }
}

TEST(Half, KeepsNanAndInfinity) {
    EXPECT_EQ(f32_to_f16(kInf), 0x7c00);
    EXPECT_EQ(f32_to_f16(-kInf), 0xfc00);
    EXPECT_EQ(f32_to_f16(1e30f), 0x7c00);
    for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0x7fffe000u}) {
        const auto half = f32_to_f16(std::bit_cast<float>(bits));
        EXPECT_TRUE(is_nan(half)) << bits;
        EXPECT_EQ(half & 0x0200, 0x0200) << bits;  // quiet
        EXPECT_EQ(half >> 15, bits >> 31) << bits;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(f16_to_f32(0xfc01)), 0xffc02000u);
}

TEST(Bfloat, WidensEveryValueExactlyAndBack) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto stored = static_cast<uint16_t>(bits);
        const float value = bf16_to_f32(stored);
        ASSERT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
        ASSERT_EQ(f32_to_bf16(value), std::isnan(value) ? stored | 0x40 : stored);
    }
}

TEST(Bfloat, RoundsToNearestEvenAndKeepsNan) {
    const auto round = [](uint32_t bits) { return f32_to_bf16(std::bit_cast<float>(bits)); };
    EXPECT_EQ(round(0x3f808000), 0x3f80);  // tie to even
    EXPECT_EQ(round(0x3f818000), 0x3f82);
    EXPECT_EQ(round(0x3f808001), 0x3f81);
    EXPECT_EQ(round(0x3f807fff), 0x3f80);
    EXPECT_EQ(round(0x7f7fffff), 0x7f80);  // past the largest: infinity
    EXPECT_EQ(round(0x7f800000), 0x7f80);
    EXPECT_EQ(round(0x7f800001), 0x7fc0);  // its payload would have been cut off
    EXPECT_EQ(round(0xffffffff), 0xffff);
    EXPECT_EQ(round(0x00000001), 0x0000);
}

}  // namespace
}  // namespace minfer
