#include "tensor/dequantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "gguf/reader.h"
#include "support/golden.h"
#include "tensor/blocks.h"

namespace minfer {
namespace {

const auto kGolden = golden_path("dequant.gguf");

class DequantizeGolden : public ::testing::TestWithParam<DType> {};

TEST_P(DequantizeGolden, EqualsThePythonPackageBitwise) {
    const auto file = gguf::File::open(kGolden);
    ASSERT_TRUE(file) << file.error().what;
    const auto type = GetParam();
    const auto* const blocks = file->find(name(type));
    const auto* const values = file->find(fmt::format("{}.values", name(type)));
    ASSERT_TRUE(blocks && values);
    ASSERT_EQ(blocks->dtype, type);
    ASSERT_EQ(blocks->values(), values->values());

    // One byte off any alignment: a row may begin anywhere.
    std::vector<std::byte> row(blocks->data.size() + 1);
    std::memcpy(row.data() + 1, blocks->data.data(), blocks->data.size());
    std::vector<float> out(values->values());
    dequantize_row(type, row.data() + 1, out.data(), out.size());
    for (size_t i = 0; i < out.size(); ++i) {
        uint32_t expected, found;
        std::memcpy(&expected, values->data.data() + 4 * i, 4);
        std::memcpy(&found, &out[i], 4);
        ASSERT_EQ(found, expected) << "value " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(, DequantizeGolden,
                         ::testing::Values(DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1,
                                           DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K,
                                           DType::Q3_K, DType::Q4_K, DType::Q5_K, DType::Q6_K,
                                           DType::Q8_K, DType::IQ4_NL, DType::IQ4_XS),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Dequantize, CopiesF32) {
    const float in[] = {1.5f, -0.f, 1e-40f};
    float out[3];
    dequantize_row(DType::F32, reinterpret_cast<const std::byte*>(in), out, 3);
    EXPECT_EQ(std::memcmp(in, out, sizeof(in)), 0);
}

TEST(Dequantize, CoversTheTypesWeRunAndNoOther) {
    size_t covered = 0;
    for (const auto& row : all_dtypes()) covered += can_dequantize(row.type) ? 1 : 0;
    EXPECT_EQ(covered, 16u);
    EXPECT_FALSE(can_dequantize(DType::IQ2_XXS));
    EXPECT_FALSE(can_dequantize(DType::I32));
    EXPECT_FALSE(can_dequantize(DType::MXFP4));
}

TEST(Blocks, PackedScalesComeBack) {
    for (int seed = 0; seed < 64; ++seed) {
        const auto value = [&](int i) { return static_cast<uint8_t>((seed * 29 + i * 37) % 64); };
        uint8_t packed[12] = {};
        for (int g = 0; g < 8; ++g) pack_scale_min(packed, g, {value(g), value(g + 8)});
        for (int g = 0; g < 8; ++g) {
            const auto [scale, min] = unpack_scale_min(packed, g);
            ASSERT_EQ(scale, value(g));
            ASSERT_EQ(min, value(g + 8));
        }
    }
}

}  // namespace
}  // namespace minfer
