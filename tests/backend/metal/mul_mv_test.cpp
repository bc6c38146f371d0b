// The bits that the matrix-vector kernels give, and the products they refuse.

#include <gmock/gmock.h>

#include "backend/metal/product_rig.h"

namespace minfer::test {
namespace {

using testing::HasSubstr;

class MetalMulMv : public Products {};

// Widths of one block, of a part of a sweep, and of several with a rest.
std::vector<size_t> widths(DType dtype) {
    switch (info(dtype).block_values) {
        case 1:
            return {3, 130, 544, 2049};
        case 32:
            return {32, 224, 544, 2080};
        default:
            return {256, 768, 1536, 2304};
    }
}

TEST_F(MetalMulMv, EveryTokenOfAFewHasTheBitsItHasAlone) {
    for (const bool multi_column : {false, true}) {
        open({.gemm = false, .multi_column = multi_column});
        for (const auto dtype : kWeightTypes)
            for (const size_t width : widths(dtype))
                for (const uint32_t rows : {1, 7, 20}) {
                    const auto matrices = upload(dtype, width, {rows});
                    const auto x = random_floats(width * 9, 5);
                    auto alone = std::vector<float>();
                    for (size_t t = 0; t < 9; ++t)
                        for (const float v :
                             multiply(matrices, std::span(x).subspan(t * width, width)))
                            alone.push_back(v);
                    for (size_t n_tokens = 2; n_tokens <= 9; ++n_tokens) {
                        const auto got = multiply(matrices, std::span(x).first(n_tokens * width));
                        EXPECT_EQ(std::memcmp(got.data(), alone.data(), got.size() * 4), 0)
                            << name(dtype) << " " << width << "x" << rows << " of " << n_tokens;
                    }
                }
    }
}

TEST_F(MetalMulMv, JoinedMatricesHaveTheBitsTheyHaveAlone) {
    open();
    for (const auto dtype : kWeightTypes)
        for (const auto& rows : {std::array{40u, 8u, 8u}, {9u, 1u, 7u}, {33u, 65u, 0u}}) {
            const auto width = widths(dtype)[2];
            const auto joined = upload(dtype, width, rows);
            const auto x = random_floats(width, 6);
            auto alone = std::vector<float>();
            for (size_t i = 0; i < joined.count; ++i) {
                auto one = shapes(dtype, width, {rows[i]});
                one.weights[0] = joined.weights[i];
                for (const float v : multiply(one, x)) alone.push_back(v);
            }
            EXPECT_EQ(multiply(joined, x), alone) << name(dtype);
        }
}

TEST_F(MetalMulMv, HalvesHaveTheBitsOfTheFloatsTheyStandFor) {
    open({.gemm = false});
    for (const auto dtype : {DType::F16, DType::BF16})
        for (const size_t width : widths(dtype))
            for (const size_t n_tokens : {1, 3, 8, 9}) {
                const auto stored = random_rows(dtype, width * 10, 7);
                auto halves = shapes(dtype, width, {10}), floats = shapes(DType::F32, width, {10});
                halves.weights[0] = upload(stored);
                floats.weights[0] = upload(dequantized(dtype, stored));
                const auto x = random_floats(width * n_tokens, 8);
                EXPECT_EQ(multiply(halves, x), multiply(floats, x))
                    << name(dtype) << " " << width << " of " << n_tokens;
            }
}

TEST_F(MetalMulMv, RefusesSeveralMatricesWithMoreThanOneToken) {
    open();
    const auto refused = [&](std::array<uint32_t, 3> rows, size_t n_tokens) {
        const auto matrices = upload(DType::Q8_0, 64, rows);
        const auto x = upload(random_floats(64 * n_tokens, 9));
        const auto out = upload(std::vector<float>(matrices.out_dim() * n_tokens));
        const auto done = metal::matmul(*context_, matrices, x, n_tokens, out);
        EXPECT_TRUE(context_->submit());
        return done ? std::string() : done.error().what;
    };
    EXPECT_EQ(refused({4, 4, 0}, 1), "");
    EXPECT_EQ(refused({8, 0, 0}, 2), "");
    EXPECT_THAT(refused({4, 4, 0}, 2), HasSubstr("2 matrices at once take 1 token, found 2"));
}

TEST_F(MetalMulMv, RefusesWeightsThatLieBetweenWords) {
    open();
    const auto refused = [&](size_t before) {
        auto matrices = shapes(DType::Q4_0, 32, {2});
        matrices.weights[0] = upload(random_rows(DType::Q4_0, 64, 1), before);
        const auto done = metal::matmul(*context_, matrices, upload(random_floats(32, 2)), 1,
                                        upload(std::vector<float>(2)));
        EXPECT_TRUE(context_->submit());
        return done ? std::string() : done.error().what;
    };
    EXPECT_EQ(refused(8), "");
    EXPECT_THAT(refused(6), HasSubstr("byte 6"));
}

}  // namespace
}  // namespace minfer::test
