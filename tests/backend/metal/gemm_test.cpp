// Matrix-matrix products on the device against double precision, every check on: as exact as the
// tile's type allows, the same bits on every run, and nothing between one token and another.
#include "backend/metal/gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backend/metal/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/software_metal.h"
#include "support/tolerances.h"
#include "support/weight_types.h"

namespace minfer::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr DType kFloats[] = {DType::F16, DType::BF16, DType::F32};

struct GemmShape {
    size_t out_dim, n_tokens, in_dim;
};

// Every number of outputs, tokens and inputs of interest, full tiles and tiles that stick out to
// either side or both, of both widths. in_dim counts in blocks of up to 32; K types take 8 times
// it.
constexpr GemmShape kShapes[] = {
    {1, 9, 32},     {8, 31, 64},   {60, 32, 96},  {64, 33, 256}, {100, 64, 32},
    {512, 65, 96},  {64, 200, 64}, {64, 32, 512}, {128, 16, 64}, {100, 12, 896},
    {512, 32, 256}, {60, 17, 32},  {65, 64, 64},
};

size_t fitting(DType dtype, size_t in_dim) {
    return info(dtype).block_values == 256 ? (in_dim <= 256 ? in_dim * 8 : 1024) : in_dim;
}

struct Product {
    DType dtype;
    GemmShape shape;
    std::vector<std::byte> rows;  // of weights
    std::vector<float> x;

    op::MatMul op() const {
        return {.weight = "w", .dtype = dtype, .in_dim = shape.in_dim, .out_dim = shape.out_dim};
    }
};

Product make_product(DType dtype, GemmShape shape) {
    return {.dtype = dtype,
            .shape = shape,
            .rows = random_rows(dtype, shape.out_dim * shape.in_dim, 11),
            .x = random_floats(shape.n_tokens * shape.in_dim, 12)};
}

struct Answer {
    std::vector<float> values;
    std::string error;
    std::vector<std::string> kernels;  // it took
};

Answer multiply(const Product& product, MetalOptions options = {},
                Placement placement = Placement::Padded) {
    auto kernels = std::vector<std::string>();
    options.trace_labels = [&](std::string_view label) { kernels.emplace_back(label); };
    auto rig = OpRig(metal_backend(options), placement);
    const auto [dtype, shape, rows, x] = product;
    rig.weight("w", dtype, {shape.in_dim, shape.out_dim, 1, 1}, rows);
    const auto in = rig.floats(x);
    auto got = rig.run(product.op(), {shape.out_dim, shape.n_tokens, 1, 1}, {in});
    return {std::move(got.values), std::move(got.error), std::move(kernels)};
}

// What the exact product is, or that of operands rounded to half.
std::vector<double> exact(const Product& product) {
    return reference::matmul(dequantized(product.dtype, product.rows), {},
                             reference::widened(product.x), product.shape.in_dim);
}
std::vector<double> rounded(const Product& product) {
    const auto round = [](std::vector<float> values) {
        for (auto& value : values) value = f16_to_f32(f32_to_f16(value));
        return values;
    };
    return reference::matmul(round(dequantized(product.dtype, product.rows)), {},
                             reference::widened(round(product.x)), product.shape.in_dim);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::string label(const Product& product) {
    const auto& shape = product.shape;
    return fmt::format("{} [{}, {}] times {} tokens", name(product.dtype), shape.in_dim,
                       shape.out_dim, shape.n_tokens);
}

void expect_correct(const Product& product, const MetalOptions& options,
                    Placement placement = Placement::Padded) {
    SCOPED_TRACE(label(product));
    const auto got = multiply(product, options, placement);
    ASSERT_THAT(got.error, IsEmpty());
    ASSERT_THAT(got.kernels, Contains(StartsWith("mul_mm_")));
    if (metal::gemm_tile(product.dtype, options) == metal::GemmTile::Half) {
        EXPECT_LE(nmse(got.values, rounded(product)), kMatmulBar);
        // A handful of outputs may all be small differences of large products.
        if (got.values.size() >= 200) EXPECT_LE(nmse(got.values, exact(product)), kHalfTilesBar);
    } else {
        EXPECT_LE(nmse(got.values, exact(product)), kMatmulBar);
    }
}

void expect_correct(DType dtype, const MetalOptions& options) {
    for (const auto& shape : kShapes) {
        const auto in_dim = fitting(dtype, shape.in_dim);
        expect_correct(make_product(dtype, {shape.out_dim, shape.n_tokens, in_dim}), options);
    }
}

TEST(MetalGemmPlan, TilesAre64OutputsBy32TokensAndBy16WhereThatIsEnough) {
    using metal::GemmTile;
    const auto plan = [](size_t out_dim, size_t n_tokens, GemmTile tile) {
        return *metal::plan_gemm(DType::Q4_0, 896, out_dim, n_tokens, tile);
    };
    EXPECT_EQ(plan(64, 32, GemmTile::Half).launch, (metal::Launch{{1, 1}, {128}, 6144}));
    EXPECT_EQ(plan(65, 33, GemmTile::Half).launch, (metal::Launch{{2, 2}, {128}, 6144}));
    EXPECT_EQ(plan(512, 200, GemmTile::Half).launch, (metal::Launch{{7, 8}, {128}, 6144}));
    EXPECT_EQ(plan(64, 32, GemmTile::Float).launch, (metal::Launch{{1, 1}, {128}, 12288}));
    EXPECT_EQ(plan(64, 16, GemmTile::Half).launch, (metal::Launch{{1, 1}, {128}, 5120}));
    EXPECT_TRUE(plan(64, 16, GemmTile::Half).narrow);
    EXPECT_FALSE(plan(64, 17, GemmTile::Half).narrow);
}

TEST(MetalGemmPlan, HalfTilesAreForTypesThatFitThemUnlessAskedOtherwise) {
    for (const auto dtype : kWeightTypes) {
        const bool wide_range = dtype == DType::BF16 || dtype == DType::F32;
        EXPECT_EQ(metal::gemm_tile(dtype, {}),
                  wide_range ? metal::GemmTile::Float : metal::GemmTile::Half);
        EXPECT_EQ(metal::gemm_tile(dtype, {.gemm_f32_tiles = true}), metal::GemmTile::Float);
    }
}

TEST(MetalGemmPlan, RefusesWhatKernelsCannotCount) {
    const auto plan = [](size_t out_dim) {
        return metal::plan_gemm(DType::F16, 64, out_dim, 32, metal::GemmTile::Half);
    };
    EXPECT_TRUE(plan(0xfffffc00));
    const auto refused = plan(0x100000000);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().what, AllOf(HasSubstr("4294967296"), HasSubstr("4294966272")));
}

class MetalGemm : public testing::Test {
  protected:
    SoftwareMetal device_;
};

TEST_F(MetalGemm, gemm_isolation) { expect_correct(DType::Q4_0, {}); }

class MetalGemmTypes : public testing::TestWithParam<DType> {
    SoftwareMetal device_;
};
TEST_P(MetalGemmTypes, non_q4_0_gemm_isolation) { expect_correct(GetParam(), {}); }
TEST_P(MetalGemmTypes, F32TilesLoseNothing) {
    expect_correct(GetParam(), {.gemm_f32_tiles = true});
}
TEST_P(MetalGemmTypes, StaysInBuffersThatEndWhereTheOperandsEnd) {
    const auto in_dim = fitting(GetParam(), 32);
    expect_correct(make_product(GetParam(), {60, 33, in_dim}), {}, Placement::Exact);
    expect_correct(make_product(GetParam(), {64, 32, in_dim}), {}, Placement::Exact);
}
INSTANTIATE_TEST_SUITE_P(Every, MetalGemmTypes, testing::ValuesIn(kWeightTypes),
                         [](const auto& type) { return std::string(name(type.param)); });

TEST_F(MetalGemm, FloatRowsMayHaveAnyWidth) {
    for (const auto dtype : kFloats)
        for (const size_t in_dim : {1, 3, 15, 17, 31, 33, 50, 63, 513})
            for (const auto& [out_dim, n_tokens] : {std::pair<size_t, size_t>{64, 32}, {37, 21}})
                expect_correct(make_product(dtype, {out_dim, n_tokens, in_dim}), {},
                               Placement::Exact);
}

TEST_F(MetalGemm, SameBitsInTenRunsInEveryOrderOnOneThreadAndTwo) {
    const auto product = make_product(DType::Q4_K, {100, 70, 512});
    const auto first = multiply(product);
    ASSERT_THAT(first.error, IsEmpty());
    for (uint64_t run = 1; run < 10; ++run) {
        SoftwareMetal device(true, run % 2 == 0 ? 1 : 2);
        device.set_order_seed(run);
        EXPECT_TRUE(same_bits(multiply(product).values, first.values)) << "run " << run;
    }
}

// Three weights one after another are one weight of all their rows.
TEST_F(MetalGemm, qkv_row_concat_layout) {
    constexpr size_t kInDim = 256, kTokens = 19;
    for (const auto dtype : {DType::Q4_0, DType::Q6_K, DType::F32}) {
        auto parts = std::vector<Product>();
        auto all = Product{.dtype = dtype, .shape = {0, kTokens, kInDim}};
        for (const size_t rows : {96, 32, 40}) {
            auto part = make_product(dtype, {rows, kTokens, kInDim});
            part.rows = random_rows(dtype, rows * kInDim, static_cast<uint32_t>(rows));
            all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
            all.shape.out_dim += rows;
            all.x = part.x;
            parts.push_back(std::move(part));
        }
        const auto joined = multiply(all).values;
        size_t first = 0;
        for (const auto& part : parts) {
            const auto alone = multiply(part).values;
            const auto rows = part.shape.out_dim;
            for (size_t t = 0; t < kTokens; ++t)
                EXPECT_TRUE(
                    same_bits(std::span(joined).subspan(t * all.shape.out_dim + first, rows),
                              std::span(alone).subspan(t * rows, rows)))
                    << name(dtype) << ", token " << t << ", rows from " << first;
            first += rows;
        }
    }
}

TEST_F(MetalGemm, ATokenHasTheSameBitsAmongAnyNumberOfOthers) {
    for (const auto dtype : {DType::Q5_1, DType::BF16}) {
        auto product = make_product(dtype, {70, 75, 96});
        const auto many = multiply(product).values;
        for (const size_t n_tokens : {64, 32, 17, 16, 9}) {  // wide tiles and narrow ones
            product.shape.n_tokens = n_tokens;
            product.x.resize(n_tokens * product.shape.in_dim);
            EXPECT_TRUE(same_bits(multiply(product).values,
                                  std::span(many).first(n_tokens * product.shape.out_dim)))
                << n_tokens;
        }
    }
}

class MetalGemmRange : public testing::TestWithParam<size_t> {  // by tokens
  protected:
    Product product(DType dtype) { return make_product(dtype, {70, GetParam(), 256}); }
    static void scale_token(Product& product, size_t token, float by) {
        for (size_t i = 0; i < product.shape.in_dim; ++i)
            product.x[token * product.shape.in_dim + i] *= by;
    }
    static std::span<const float> token(const Product& product, std::span<const float> values,
                                        size_t token) {
        return values.subspan(token * product.shape.out_dim, product.shape.out_dim);
    }

  private:
    SoftwareMetal device_;
};

TEST_P(MetalGemmRange, ActivationsAboveTheLargestHalfAreAsExactAsOthers) {
    for (const auto dtype : {DType::Q8_0, DType::F16}) {
        const auto calm = product(dtype);
        auto wild = calm;
        constexpr float kFactors[] = {1e5f, 3e20f, 1.7e36f};
        for (size_t i = 0; i < 3; ++i) scale_token(wild, 2 * i + 1, kFactors[i]);
        const auto got = multiply(wild);
        ASSERT_THAT(got.error, IsEmpty());
        const auto want = exact(wild);
        const auto before = multiply(calm).values;
        for (size_t t = 0; t < GetParam(); ++t) {
            const auto width = wild.shape.out_dim;
            if (t % 2 == 1 && t < 6)
                EXPECT_LE(
                    nmse(token(wild, got.values, t), std::span(want).subspan(t * width, width)),
                    kHalfTilesBar)
                    << t;
            else
                EXPECT_TRUE(same_bits(token(wild, got.values, t), token(calm, before, t))) << t;
        }
    }
}

// Scaling by a power of two changes nothing but the exponent.
TEST_P(MetalGemmRange, ScaledTokensHaveTheDigitsOfUnscaledOnes) {
    const auto calm = product(DType::Q4_0);
    auto wild = calm;
    scale_token(wild, 3, 0x1p40f);
    auto want = multiply(calm).values;
    for (size_t o = 0; o < calm.shape.out_dim; ++o) want[3 * calm.shape.out_dim + o] *= 0x1p40f;
    EXPECT_TRUE(same_bits(multiply(wild).values, want));
}

TEST_P(MetalGemmRange, TheLargestHalfItselfNeedsNoScaling) {
    auto product = this->product(DType::F16);
    product.x[5] = 65504;
    expect_correct(product, {});  // rounded to half as it stands, with no power of two
}

TEST_P(MetalGemmRange, AnInfiniteActivationSpoilsItsOwnTokenOnly) {
    for (const float spoilt : {INFINITY, -INFINITY, NAN}) {
        const auto calm = product(DType::Q4_1);
        auto wild = calm;
        wild.x[4 * wild.shape.in_dim + 100] = spoilt;
        const auto got = multiply(wild).values, before = multiply(calm).values;
        for (size_t t = 0; t < GetParam(); ++t) {
            if (t != 4) {
                EXPECT_TRUE(same_bits(token(wild, got, t), token(calm, before, t))) << t;
                continue;
            }
            for (const float value : token(wild, got, t)) EXPECT_FALSE(std::isfinite(value));
        }
    }
}
INSTANTIATE_TEST_SUITE_P(Tokens, MetalGemmRange, testing::Values(9, 33, 64));

}  // namespace
}  // namespace minfer::test
