#include "base/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace minfer {
namespace {

TEST(ParseNumber, ReadsDecimalFloats) {
    EXPECT_EQ(parse_number<double>("0"), 0.0);
    EXPECT_EQ(parse_number<double>("-1.5"), -1.5);
    EXPECT_EQ(parse_number<double>(".5"), 0.5);
    EXPECT_EQ(parse_number<double>("5."), 5.0);
    EXPECT_EQ(parse_number<double>("1e-3"), 1e-3);
    EXPECT_EQ(parse_number<double>("2.5E+2"), 250.0);
    EXPECT_EQ(parse_number<float>("0.1"), 0.1f);
    EXPECT_EQ(parse_number<double>("-inf"), -std::numeric_limits<double>::infinity());
    ASSERT_TRUE(parse_number<double>("nan"));
    EXPECT_TRUE(std::isnan(*parse_number<double>("nan")));
}

TEST(ParseNumber, RefusesWhatIsNotWhollyANumber) {
    using namespace std::string_view_literals;
    for (const auto text : {"", "-", ".", "e5", " 1", "1 ", "\n1", "+1", "--1", "-+1", "1x", "1,5",
                            "0x10", "-0x1p3", "1e", "i", "none"})
        EXPECT_FALSE(parse_number<double>(text)) << '"' << text << '"';
    EXPECT_FALSE(parse_number<double>("1\0"sv));
    EXPECT_FALSE(parse_number<double>("1\0002"sv));
}

TEST(ParseNumber, RefusesFloatsOutOfRangeAndKeepsSmallOnes) {
    EXPECT_FALSE(parse_number<double>("1e309"));
    EXPECT_FALSE(parse_number<double>("1e-400"));
    EXPECT_FALSE(parse_number<float>("3.5e38"));
    EXPECT_FALSE(parse_number<float>("-3.5e38"));
    EXPECT_EQ(parse_number<double>("5e-324"), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(parse_number<float>("1e-45"), std::numeric_limits<float>::denorm_min());
}

TEST(ParseNumber, ReadsBackWhatIsPrinted) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 2000; ++i) {
        const auto bits = random();
        double value;
        static_assert(sizeof value == sizeof bits);
        std::memcpy(&value, &bits, sizeof value);
        if (!std::isfinite(value)) continue;
        char text[64];
        const auto end = std::snprintf(text, sizeof text, "%.17g", value);
        EXPECT_EQ(parse_number<double>(std::string_view(text, static_cast<size_t>(end))), value)
            << text;
    }
}

TEST(ParseNumber, RefusesIntegersOutOfRange) {
    EXPECT_EQ(parse_number<int>("-12"), -12);
    EXPECT_FALSE(parse_number<int>("2147483648"));
    EXPECT_FALSE(parse_number<int>("+1"));
    EXPECT_FALSE(parse_number<int>("1.0"));
}

}  // namespace
}  // namespace minfer
