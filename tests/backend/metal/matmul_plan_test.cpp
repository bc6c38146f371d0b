// Which kernels a product goes to, and how they share it out.

#include <gmock/gmock.h>

#include "backend/metal/product_rig.h"

namespace minfer::test {
namespace {

using metal::Launch;
using metal::MatmulTier;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MetalProduct, RefusesRowsThatAreNotWholeBlocks) {
    EXPECT_TRUE(metal::check_product(DType::Q6_K, 512, 64));
    const auto super = metal::check_product(DType::Q6_K, 480, 64);
    ASSERT_FALSE(super);
    EXPECT_EQ(super.error().fault, Fault::BadInput);
    EXPECT_THAT(super.error().what, HasSubstr("rows of 480 weights, Q6_K needs multiples of 256"));
    EXPECT_TRUE(metal::check_product(DType::Q4_0, 96, 64));
    const auto small = metal::check_product(DType::Q4_0, 100, 64);
    ASSERT_FALSE(small);
    EXPECT_THAT(small.error().what, HasSubstr("rows of 100 weights, Q4_0 needs multiples of 32"));
    EXPECT_TRUE(metal::check_product(DType::F16, 100, 64));
    EXPECT_FALSE(metal::check_product(DType::F16, 0, 64));
}

TEST(MetalMatmulTier, OneTokenAFewAndManyGoToKernelsOfTheirOwn) {
    for (const auto dtype : kWeightTypes)
        for (const size_t rows : {1, 2047, 2048, 151936}) {
            const auto tier = [&](size_t n_tokens, const MetalOptions& options) {
                return metal::matmul_tier(dtype, rows, n_tokens, options);
            };
            EXPECT_EQ(tier(1, {}), MatmulTier::Single);
            EXPECT_EQ(tier(2, {}), MatmulTier::MultiColumn);
            EXPECT_EQ(tier(8, {}), MatmulTier::MultiColumn);
            EXPECT_EQ(tier(9, {}), MatmulTier::Gemm);
            EXPECT_EQ(tier(1, {.gemm = false}), MatmulTier::Single);
            EXPECT_EQ(tier(8, {.gemm = false}), MatmulTier::MultiColumn);
            EXPECT_EQ(tier(9, {.gemm = false}), MatmulTier::Multi);
        }
}

// The rule that the two extensions replace, as a table: with both off nothing else is left.
TEST(MetalMatmulTier, BothSwitchesRestoreTheSpecifiedRule) {
    struct Case {
        size_t rows, n_tokens;
        MatmulTier quantised;
    };
    constexpr auto kSingle = MatmulTier::Single, kMulti = MatmulTier::Multi,
                   kGemm = MatmulTier::Gemm;
    for (const auto& c : {Case{2048, 1, kSingle}, Case{2047, 2, kMulti}, Case{2047, 8, kMulti},
                          Case{2047, 9, kGemm}, Case{1, 9, kGemm}, Case{2048, 2, kGemm},
                          Case{2048, 8, kGemm}, Case{2048, 9, kGemm}})
        for (const auto dtype : kWeightTypes) {
            const auto tier = [&](bool gemm) {
                return metal::matmul_tier(
                    dtype, c.rows, c.n_tokens,
                    {.gemm = gemm, .multi_column = false, .float_gemm = false});
            };
            const auto without = c.n_tokens == 1 ? kSingle : kMulti;
            const bool quantised = info(dtype).block_values > 1;
            EXPECT_EQ(tier(true), quantised ? c.quantised : without)
                << name(dtype) << " " << c.rows << " of " << c.n_tokens;
            EXPECT_EQ(tier(false), without);
        }
}

TEST(MetalMatmulTier, EachSwitchTakesItsOwnExtensionAway) {
    for (const auto dtype : kWeightTypes) {
        const bool quantised = info(dtype).block_values > 1;
        const auto tier = [&](size_t rows, size_t n_tokens, const MetalOptions& options) {
            return metal::matmul_tier(dtype, rows, n_tokens, options);
        };
        for (const size_t rows : {2047, 2048}) {
            EXPECT_EQ(tier(rows, 1, {.multi_column = false}), MatmulTier::Single);
            for (const size_t n_tokens : {2, 8})
                EXPECT_EQ(tier(rows, n_tokens, {.multi_column = false}),
                          rows == 2048 ? MatmulTier::Gemm : MatmulTier::Multi);
            EXPECT_EQ(tier(rows, 9, {.multi_column = false}), MatmulTier::Gemm);

            EXPECT_EQ(tier(rows, 1, {.float_gemm = false}), MatmulTier::Single);
            for (const size_t n_tokens : {2, 8})
                EXPECT_EQ(tier(rows, n_tokens, {.float_gemm = false}), MatmulTier::MultiColumn);
            EXPECT_EQ(tier(rows, 9, {.float_gemm = false}),
                      quantised ? MatmulTier::Gemm : MatmulTier::Multi);
        }
    }
}

TEST(MetalMulMvPlan, SimdGroupsHaveRowsOfTheirOwnOrShareThem) {
    const auto plan = [](DType dtype, size_t in_dim, uint32_t rows) {
        return *metal::plan_mul_mv(shapes(dtype, in_dim, {rows}), 1, MatmulTier::Single);
    };
    EXPECT_EQ(plan(DType::Q4_0, 896, 896).launch, (Launch{{112}, {64}}));
    EXPECT_EQ(plan(DType::Q5_1, 896, 897).launch, (Launch{{113}, {64}}));
    EXPECT_EQ(plan(DType::Q4_K, 3584, 512).launch, (Launch{{128}, {64}}));
    EXPECT_EQ(plan(DType::Q6_K, 3584, 1).launch, (Launch{{1}, {64}}));
    EXPECT_EQ(plan(DType::Q8_0, 3584, 512).launch, (Launch{{256}, {128}}));
    EXPECT_EQ(plan(DType::F16, 3584, 512).launch, (Launch{{128}, {128}}));
    EXPECT_EQ(plan(DType::Q4_0, 896, 896).args.row_bytes, 28u * 18);
    EXPECT_EQ(plan(DType::Q4_0, 896, 896).columns, 1u);
}

// Two rounds for each SIMD group that joins; below one round lanes take other rows.
TEST(MetalMulMvPlan, AShortRowTakesFewerLanes) {
    const auto lanes_and_threads = [](DType dtype, size_t in_dim) {
        const auto plan = *metal::plan_mul_mv(shapes(dtype, in_dim, {64}), 1, MatmulTier::Single);
        return std::pair(plan.args.lanes, plan.launch.threads.x);
    };
    using P = std::pair<uint32_t, uint32_t>;
    EXPECT_EQ(lanes_and_threads(DType::Q8_0, 513), (P{32, 64}));
    EXPECT_EQ(lanes_and_threads(DType::Q8_0, 512), (P{32, 32}));
    EXPECT_EQ(lanes_and_threads(DType::Q8_0, 64), (P{8, 32}));
    EXPECT_EQ(lanes_and_threads(DType::Q4_0, 512), (P{32, 64}));
    EXPECT_EQ(lanes_and_threads(DType::Q4_0, 32), (P{2, 64}));
    EXPECT_EQ(lanes_and_threads(DType::Q4_K, 256), (P{8, 64}));
    EXPECT_EQ(lanes_and_threads(DType::Q6_K, 256), (P{16, 64}));
    EXPECT_EQ(lanes_and_threads(DType::F32, 7), (P{1, 32}));
    EXPECT_EQ(lanes_and_threads(DType::F32, 2049), (P{32, 128}));
}

TEST(MetalMulMvPlan, AFewTokensAreSplitEvenlyIntoPassesOfUpToFour) {
    const auto columns_and_groups = [](size_t n_tokens) {
        const auto plan =
            *metal::plan_mul_mv(shapes(DType::Q4_0, 512, {8}), n_tokens, MatmulTier::MultiColumn);
        return std::pair(plan.columns, plan.launch.groups.x);
    };
    using P = std::pair<uint32_t, uint32_t>;
    EXPECT_EQ(columns_and_groups(2), (P{2, 2}));
    EXPECT_EQ(columns_and_groups(4), (P{4, 2}));
    EXPECT_EQ(columns_and_groups(5), (P{3, 4}));
    EXPECT_EQ(columns_and_groups(7), (P{4, 4}));
    EXPECT_EQ(columns_and_groups(8), (P{4, 4}));
}

TEST(MetalMulMvPlan, AThreadgroupWorksOnOneMatrix) {
    const auto plan =
        *metal::plan_mul_mv(shapes(DType::Q4_0, 512, {9, 8, 1}), 1, MatmulTier::Single);
    EXPECT_EQ(plan.launch.groups.x, 4u);
    EXPECT_THAT(plan.args.last_group, ElementsAre(2, 3));
    EXPECT_EQ(plan.args.out_dim, 18u);
}

TEST(MetalMulMvPlan, ABiasTakesOneThreadForEachElement) {
    EXPECT_EQ(*metal::plan_add_bias(1, 256), (Launch{{1, 1}, {256}}));
    EXPECT_EQ(*metal::plan_add_bias(3, 257), (Launch{{3, 2}, {256}}));
}

}  // namespace
}  // namespace minfer::test
