#include "tensor/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "gguf/reader.h"
#include "support/golden.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;

const auto kGolden = golden_path("quantize.gguf");

// As quantize_row, and Q8_K, which is no type for files.
Result<> encode(DType type, const std::vector<float>& in, std::byte* out) {
    if (type != DType::Q8_K) return quantize_row(type, in.data(), out, in.size());
    for (size_t i = 0; i < in.size(); i += 256, out += sizeof(BlockQ8_K)) {
        const auto block = quantize_block_q8_k(in.data() + i);
        std::memcpy(out, &block, sizeof(block));
    }
    return {};
}

class QuantizeGolden : public ::testing::TestWithParam<DType> {};

TEST_P(QuantizeGolden, EqualsTheOtherQuantisersByteForByte) {
    const auto file = gguf::File::open(kGolden);
    ASSERT_TRUE(file) << file.error().what;
    const auto* const input = file->find("input");
    const auto* const expected = file->find(name(GetParam()));
    ASSERT_TRUE(input && expected);
    std::vector<float> values(input->values());
    std::memcpy(values.data(), input->data.data(), input->data.size());
    std::vector<std::byte> out(expected->data.size());
    const auto done = encode(GetParam(), values, out.data());
    ASSERT_TRUE(done) << done.error().what;
    for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], expected->data[i])
            << "byte " << i << ", block " << i / info(GetParam()).block_bytes;
}

INSTANTIATE_TEST_SUITE_P(, QuantizeGolden,
                         ::testing::Values(DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1,
                                           DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q4_K,
                                           DType::Q5_K, DType::Q6_K, DType::Q8_K),
                         [](const auto& param) { return std::string(name(param.param)); });

std::vector<float> round_trip(DType type, const std::vector<float>& in) {
    std::vector<std::byte> stored(row_bytes(type, in.size()));
    const auto done = quantize_row(type, in.data(), stored.data(), in.size());
    EXPECT_TRUE(done) << done.error().what;
    std::vector<float> out(in.size());
    dequantize_row(type, stored.data(), out.data(), out.size());
    return out;
}

double squared_error(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
    return sum;
}

// Rounding to nearest with scales from the range alone, the scales as coarse as the format's:
// what a K quantiser has to beat.
std::vector<float> plain_affine(const std::vector<float>& in, int levels) {
    const auto six_bits = [](float value, float top) {
        return top > 0 ? std::round(value / top * 63) * (top / 63) : 0;
    };
    std::vector<float> out(in.size());
    for (size_t block = 0; block < in.size(); block += 256) {
        float scale[8], min[8], top_scale = 0, top_min = 0;
        for (size_t g = 0; g < 8; ++g) {
            const auto* const x = in.data() + block + 32 * g;
            min[g] = std::max(0.f, -*std::min_element(x, x + 32));
            scale[g] = (*std::max_element(x, x + 32) + min[g]) / static_cast<float>(levels);
            top_scale = std::max(top_scale, scale[g]);
            top_min = std::max(top_min, min[g]);
        }
        for (size_t i = 0; i < 256; ++i) {
            const float s = six_bits(scale[i / 32], top_scale), m = six_bits(min[i / 32], top_min);
            const float level = s > 0 ? std::round((in[block + i] + m) / s) : 0;
            out[block + i] = std::clamp(level, 0.f, static_cast<float>(levels)) * s - m;
        }
    }
    return out;
}

std::vector<float> plain_symmetric(const std::vector<float>& in) {
    std::vector<float> out(in.size());
    for (size_t block = 0; block < in.size(); block += 256) {
        float scale[16] = {}, top = 0;
        for (size_t g = 0; g < 16; ++g) {
            for (size_t i = 0; i < 16; ++i)
                scale[g] = std::max(scale[g], std::fabs(in[block + 16 * g + i]) / 31);
            top = std::max(top, scale[g]);
        }
        for (size_t i = 0; i < 256; ++i) {
            const float s = top > 0 ? std::round(scale[i / 16] / top * 127) * (top / 127) : 0;
            const float level = s > 0 ? std::round(in[block + i] / s) : 0;
            out[block + i] = std::clamp(level, -32.f, 31.f) * s;
        }
    }
    return out;
}

std::vector<std::pair<const char*, std::vector<float>>> weight_like_rows() {
    std::mt19937 rng(7);
    std::normal_distribution<float> normal(0, 0.02f);
    std::student_t_distribution<float> heavy(3);
    std::uniform_real_distribution<float> uniform(0.2f, 1.f);
    std::vector<float> a(4096), b(4096), c(4096), d(4096);
    for (auto& x : a) x = normal(rng);
    for (auto& x : b) x = heavy(rng);
    for (auto& x : c) x = uniform(rng);
    for (size_t i = 0; i < d.size(); ++i)
        d[i] = normal(rng) * std::exp2(static_cast<float>(i / 32 % 9));
    return {{"normal", a}, {"heavy tails", b}, {"all positive", c}, {"uneven groups", d}};
}

TEST(QuantizeK, ErrorIsBelowPlainRounding) {
    for (const auto& [what, in] : weight_like_rows()) {
        EXPECT_LE(squared_error(round_trip(DType::Q4_K, in), in),
                  squared_error(plain_affine(in, 15), in))
            << what;
        EXPECT_LE(squared_error(round_trip(DType::Q5_K, in), in),
                  squared_error(plain_affine(in, 31), in))
            << what;
        EXPECT_LE(squared_error(round_trip(DType::Q6_K, in), in),
                  squared_error(plain_symmetric(in), in))
            << what;
    }
}

TEST(QuantizeK, MoreBitsMeanLessError) {
    for (const auto& [what, in] : weight_like_rows()) {
        const double q4 = squared_error(round_trip(DType::Q4_K, in), in);
        const double q5 = squared_error(round_trip(DType::Q5_K, in), in);
        const double q6 = squared_error(round_trip(DType::Q6_K, in), in);
        EXPECT_LT(q5, q4 / 3) << what;  // twice the levels: about a quarter
        EXPECT_LT(q6, q5) << what;
    }
}

TEST(Quantize, ZerosStayZeroInEveryType) {
    const std::vector<float> zeros(512, 0.f);
    for (const auto& row : all_dtypes())
        if (can_quantize(row.type))
            for (const float value : round_trip(row.type, zeros)) ASSERT_EQ(value, 0) << row.name;
}

TEST(Quantize, ConstantsAndTinyValuesSurvive) {
    for (const float constant : {1.f, -1.f, 1e-3f, 1e-12f, 1e-30f, 1e-44f, -1e-39f})
        for (const auto& row : all_dtypes()) {
            if (!can_quantize(row.type)) continue;
            // A step of the scale and its six bits for values of ordinary size; below that a half
            // scale loses its bits one by one and the value may become 0.
            const double slack =
                std::fabs(constant) > 1e-2 ? std::fabs(constant) / 14 : std::fabs(constant);
            for (const float value : round_trip(row.type, std::vector<float>(256, constant)))
                ASSERT_NEAR(value, constant, slack) << row.name;
        }
}

TEST(Quantize, RefusesWhatABlockCannotHold) {
    std::vector<std::byte> out(2048);
    for (const auto& row : all_dtypes()) {
        if (!can_quantize(row.type) || row.block_values == 1) continue;
        const auto refusal = [&](float bad) {
            std::vector<float> in(512, 1.f);
            in[300] = bad;
            const auto done = quantize_row(row.type, in.data(), out.data(), in.size());
            return done ? "accepted" : done.error().what;
        };
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            EXPECT_THAT(refusal(bad), HasSubstr("value 300 is"));
            EXPECT_THAT(refusal(bad), HasSubstr(std::string(row.name)));
        }
        for (const float bad : {1e10f, 1e20f, 3e38f, -3e38f})
            EXPECT_THAT(refusal(bad), HasSubstr("too large for")) << row.name;
    }
}

TEST(Quantize, PlainTypesTakeEveryValue) {
    const std::vector<float> in = {std::numeric_limits<float>::infinity(), 1e30f, -0.f, 1.f};
    EXPECT_EQ(round_trip(DType::F32, in), in);
    EXPECT_TRUE(std::isinf(round_trip(DType::F16, in)[1]));
    EXPECT_NEAR(round_trip(DType::BF16, in)[1], 1e30f, 1e30f / 256);
}

TEST(QuantizeQ8K, ErrsByHalfAStepAndSumsItsGroups) {
    std::mt19937 rng(3);
    std::normal_distribution<float> normal;
    std::vector<float> in(256);
    float peak = 0;
    for (auto& x : in) {
        x = normal(rng);
        peak = std::max(peak, std::fabs(x));
    }
    const auto block = quantize_block_q8_k(in.data());
    EXPECT_FLOAT_EQ(std::fabs(block.d), peak / 127);
    for (size_t i = 0; i < 256; ++i)
        EXPECT_NEAR(block.d * block.quants[i], in[i], std::fabs(block.d) * 0.5001f);
    for (size_t group = 0; group < 16; ++group) {
        int sum = 0;
        for (size_t i = 0; i < 16; ++i) sum += block.quants[16 * group + i];
        EXPECT_EQ(block.sums[group], sum);
    }
    const std::vector<float> zeros(256, 0.f), tiny(256, 1e-44f);
    EXPECT_EQ(quantize_block_q8_k(zeros.data()).d, 0);
    EXPECT_EQ(quantize_block_q8_k(tiny.data()).d, 0);
}

}  // namespace
}  // namespace minfer
