// Which kernels a product goes to, and how they share it out.

#include <gmock/gmock.h>

#include "backend/metal/product_rig.h"

namespace minfer::test {
namespace {

using metal::Launch;
using metal::MatmulTier;
using testing::ElementsAre;

TEST(MetalMatmulTier, OneTokenAFewAndManyGoToKernelsOfTheirOwn) {
    for (const auto dtype : kProductTypes)
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

TEST(MetalMatmulTier, TheSpecifiedRuleIsBehindItsSwitch) {
    const auto tier = [](DType dtype, size_t rows, size_t n_tokens, bool gemm = true) {
        return metal::matmul_tier(dtype, rows, n_tokens, {.gemm = gemm, .specified_tiers = true});
    };
    for (const auto dtype : kProductTypes) {
        EXPECT_EQ(tier(dtype, 2048, 1), MatmulTier::Single);
        EXPECT_EQ(tier(dtype, 2047, 8), MatmulTier::Multi);
        EXPECT_EQ(tier(dtype, 2048, 2, false), MatmulTier::Multi);
        EXPECT_EQ(tier(dtype, 1, 9, false), MatmulTier::Multi);
        const bool quantised = info(dtype).block_values > 1;
        const auto large = quantised ? MatmulTier::Gemm : MatmulTier::Multi;
        EXPECT_EQ(tier(dtype, 2048, 2), large);
        EXPECT_EQ(tier(dtype, 1, 9), large);
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
    EXPECT_EQ(*metal::plan_add_bias(3, 257), (Launch{{2, 3}, {256}}));
}

}  // namespace
}  // namespace minfer::test
