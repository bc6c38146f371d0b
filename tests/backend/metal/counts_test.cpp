// Numbers that kernels cannot count to are refused, and so is a call without elements: a grid of
// the wrong size would leave results unwritten, one of nothing cannot be launched.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention.h"
#include "backend/metal/elementwise.h"
#include "backend/metal/fused.h"
#include "backend/metal/kv.h"
#include "backend/metal/matmul.h"
#include "backend/metal/norm.h"
#include "backend/metal/rig.h"
#include "backend/metal/rope.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

using metal::CellType;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMost = 0xfffffc00, kTooMany = kMost + 1, kWrapped = (size_t{1} << 32) + 1;

template <class T>
void expect_refused(const Result<T>& plan, size_t value) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::Unsupported);
    EXPECT_THAT(plan.error().what,
                AllOf(HasSubstr(fmt::format("{}", value)), HasSubstr("4294966272")));
}

TEST(MetalCounts, ALengthGoesToAKernelWholeOrNotAtAll) {
    EXPECT_EQ(*metal::to_u32("elements", 0), 0u);
    EXPECT_EQ(*metal::to_u32("elements", kMost), 0xfffffc00u);
    expect_refused(metal::to_u32("elements", kTooMany), kTooMany);
    expect_refused(metal::to_u32("elements", SIZE_MAX), SIZE_MAX);
    EXPECT_EQ(metal::ceil_div(SIZE_MAX, size_t{2}), size_t{1} << 63);
}

// Of the last threadgroup no thread counts past 32 bits: `first + 4` of the kernel stays whole.
TEST(MetalCounts, TheLastThreadOfTheLongestElementWiseGridDoesNotWrap) {
    const auto launch = *metal::plan_elementwise(kMost);
    EXPECT_LE(launch.groups.count() * launch.threads.count() * 4, uint64_t{UINT32_MAX});
    expect_refused(metal::plan_elementwise(kTooMany), kTooMany);
    expect_refused(metal::plan_elementwise(kWrapped), kWrapped);
}

TEST(MetalCounts, EveryPlanRefusesWhatItCannotCount) {
    for (const auto count : {kTooMany, kWrapped}) {
        expect_refused(metal::plan_rms_norm_256(count), count);
        expect_refused(metal::plan_rms_norm_32(count), count);
        expect_refused(metal::plan_norm_heads(count), count);
        expect_refused(metal::plan_rope(count, 1, 2), count);
        expect_refused(metal::plan_kv_store(CellType::F32, 4, count), count);
        expect_refused(metal::plan_kv_store(CellType::Q8_0, count, 1), count);
        expect_refused(metal::plan_classic(count, 1, 1), count);
        expect_refused(metal::plan_classic(1, count, count), count);
        expect_refused(metal::plan_prefill(count, 1, 64), count);
        expect_refused(metal::plan_prefill(1, count, 64), count);
        expect_refused(metal::plan_tail_pad(count), count);
        expect_refused(metal::plan_stage(count, 1), count);
        expect_refused(metal::plan_stage(1, count), count);
        expect_refused(metal::plan_add_bias(count, 1), count);
        expect_refused(metal::plan_add_bias(1, count), count);
        expect_refused(metal::plan_rope_store(count, 0, 2), count);
        expect_refused(metal::check_product(DType::F32, count, 1), count);
        expect_refused(metal::check_product(DType::F32, 1, count), count);
    }
    EXPECT_TRUE(metal::plan_rms_norm_256(kMost));
    EXPECT_TRUE(metal::plan_rms_norm_32(kMost));
    EXPECT_TRUE(metal::plan_norm_heads(kMost));
    EXPECT_TRUE(metal::plan_rope(kMost, 1, 2));
    EXPECT_TRUE(metal::plan_kv_store(CellType::F32, 4, kMost));
    EXPECT_TRUE(metal::plan_kv_store(CellType::Q8_0, kMost, 1));
    EXPECT_TRUE(metal::plan_classic(kMost, 1, 1));
    EXPECT_TRUE(metal::plan_classic(1, kMost, kMost));
    EXPECT_TRUE(metal::plan_prefill(kMost, kMost, 64));
    EXPECT_TRUE(metal::plan_tail_pad(kMost));
    EXPECT_TRUE(metal::plan_stage(kMost, kMost));
    EXPECT_TRUE(metal::plan_add_bias(kMost, 1));
    EXPECT_TRUE(metal::plan_add_bias(1, kMost));
    EXPECT_TRUE(metal::plan_rope_store(kMost, 0, 2));
    EXPECT_TRUE(metal::check_product(DType::F32, kMost / 4, kMost));
}

TEST(MetalCounts, AProductRefusesMoreTokensOrThreadgroupsThanItCanCount) {
    const auto matrices = metal::Matrices{
        .dtype = DType::Q4_0, .in_dim = 512, .rows = {uint32_t{1} << 20}, .count = 1};
    const auto plan = [&](size_t n_tokens) {
        return metal::plan_mul_mv(matrices, n_tokens, metal::MatmulTier::MultiColumn);
    };
    expect_refused(plan(kTooMany), kTooMany);
    expect_refused(plan(size_t{1} << 31), size_t{1} << 47);  // 2^29 passes of 2^18 threadgroups
    EXPECT_TRUE(plan(4096));
}

struct Empty {
    const char* name;
    Op op;
    Shape shape;
    size_t sources;
};

TEST(MetalCounts, ACallWithoutElementsIsRefusedAndEndsNothing) {
    auto rig = metal_rig();
    rig.weight("w", DType::F32, {8, 8, 1, 1}, random_rows(DType::F32, 64, 1));
    rig.weight("gain", random_floats(8, 2));
    auto empty = rig.buffer(16);
    empty.bytes = 0;
    const auto layout = kv_layout(KvFormat::F32, 8);
    const auto kv =
        KvPair{.k = rig.floats(random_floats(32, 3)), .v = rig.floats(random_floats(32, 4))};
    const Empty all[] = {
        {"Add", op::Add{}, {0, 1, 1, 1}, 2},
        {"Mul", op::Mul{}, {8, 0, 1, 1}, 2},
        {"Silu", op::Silu{}, {8, 0, 1, 1}, 1},
        {"SwiGlu", op::SwiGlu{}, {8, 0, 1, 1}, 2},
        {"RmsNorm", op::RmsNorm{.eps = 1e-6f, .weight = "gain"}, {8, 0, 1, 1}, 1},
        {"QkNorm",
         op::QkNorm{.eps = 1e-6f, .weight = "gain", .n_head = 1, .head_dim = 8},
         {8, 0, 1, 1},
         1},
        {"Embed",
         op::Embed{.weight = "w", .dtype = DType::F32, .width = 8, .vocab = 8},
         {8, 0, 1, 1},
         1},
        {"GatherRows", op::GatherRows{}, {8, 0, 1, 1}, 2},
        {"GatherRows", op::GatherRows{}, {0, 1, 1, 1}, 2},
        {"MatMul",
         op::MatMul{.weight = "w", .dtype = DType::F32, .in_dim = 8, .out_dim = 8},
         {8, 0, 1, 1},
         1},
        {"Rope", op::Rope{.n_head = 1, .head_dim = 8}, {8, 0, 1, 1}, 2},
        {"KvStore", op::KvStore{.layout = layout, .n_ctx = 4}, {8, 4, 1, 1}, 3},
        {"Attention",
         op::Attention{.n_head = 1, .n_head_kv = 1, .head_dim = 8, .layout = layout, .n_ctx = 4},
         {8, 0, 1, 1},
         3},
        {"FusedFfn",
         op::FusedFfn{.weights = {"w"}, .dtype = DType::F32, .in_dim = 8, .width = 0},
         {0, 1, 1, 1},
         1},
    };
    for (const auto& [name, op, shape, sources] : all) {
        const auto error = rig.execute(op, shape, std::vector(sources, empty), empty, kv);
        EXPECT_THAT(error, HasSubstr(fmt::format("node 'tested' ({}", name)));
    }
}

}  // namespace
}  // namespace minfer::test
