#include "backend/metal/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::Launch;
using testing::HasSubstr;

constexpr auto kStyles = {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved};

TEST(MetalRope, FewTokensTakeAThreadForEveryHeadAndManyShareTheirAngles) {
    EXPECT_EQ(*metal::plan_rope(1, 14, 64), (Launch{{1}, {256}}));   // 14 heads of 8 fours
    EXPECT_EQ(*metal::plan_rope(15, 14, 64), (Launch{{7}, {256}}));  // 1680 threads
    EXPECT_EQ(*metal::plan_rope(16, 14, 64), (Launch{{2}, {256}}));  // 512: heads by four
    EXPECT_EQ(*metal::plan_rope(1, 128, 10), (Launch{{1}, {256}}));  // five pairs are two fours
    EXPECT_EQ(*metal::plan_rope(1, 129, 10), (Launch{{2}, {256}}));
    EXPECT_EQ(metal::rope_heads_per_thread(15), 1u);
    EXPECT_EQ(metal::rope_heads_per_thread(16), 4u);
}

// Head sizes whose half ends within a vector; token counts on both sides of where threads share.
TEST(MetalRope, RotatesEveryHeadInBothStyles) {
    auto rig = metal_rig();
    for (const auto style : kStyles) {
        for (const size_t head_dim : {2, 6, 10, 64, 80, 128, 256, 320}) {
            for (const size_t n_tokens : {1, 4, 16, 21}) {
                const auto rope =
                    op::Rope{.style = style, .freq_base = 1e6f, .n_head = 7, .head_dim = head_dim};
                auto positions = std::vector<int32_t>(n_tokens);
                for (size_t t = 0; t < n_tokens; ++t)
                    positions[t] = static_cast<int32_t>((t * 7919 + 131071) % 131072);
                const auto x = random_floats(7 * head_dim * n_tokens, 1);
                const auto got = rig.run(rope, {7 * head_dim, n_tokens, 1, 1},
                                         {rig.floats(x), rig.ints(positions)});
                EXPECT_EQ(got.error, "");
                const auto want = reference::rope(rope, reference::widened(x), positions);
                EXPECT_LE(nmse(got.values, want), kRopeBar) << head_dim << ", " << n_tokens;
            }
        }
    }
}

TEST(MetalRope, PositionZeroChangesNothing) {
    auto rig = metal_rig();
    const auto x = random_floats(64, 2);
    const auto rope = op::Rope{.n_head = 2, .head_dim = 32};
    const auto zero = rig.ints(std::vector<int32_t>{0});
    EXPECT_EQ(rig.run(rope, {64, 1, 1, 1}, {rig.floats(x), zero}).values, x);
}

TEST(MetalRope, WritesOverItsSource) {
    auto rig = metal_rig();
    for (const auto style : kStyles) {
        for (const size_t n_tokens : {2, 20}) {
            const auto rope = op::Rope{.style = style, .n_head = 3, .head_dim = 20};
            const auto shape = Shape{60, n_tokens, 1, 1};
            const auto positions = rig.ints(std::vector<int32_t>(n_tokens, 9));
            const auto place = rig.floats(random_floats(60 * n_tokens, 3));
            const auto apart = rig.run(rope, shape, {place, positions}).values;
            EXPECT_EQ(rig.execute(rope, shape, std::vector{place, positions}, place), "");
            EXPECT_EQ(rig.view(place), apart);
        }
    }
}

// Whichever thread takes it, and whoever shares its angles.
TEST(MetalRope, ATokenHasTheSameBitsAloneAndAmongOthers) {
    auto rig = metal_rig();
    for (const auto style : kStyles) {
        const auto rope = op::Rope{.style = style, .n_head = 5, .head_dim = 36};
        const auto x = random_floats(180 * 18, 4);
        auto positions = std::vector<int32_t>(18);
        for (size_t t = 0; t < 18; ++t) positions[t] = static_cast<int32_t>(70 + 3 * t);
        const auto all = rig.run(rope, {180, 18, 1, 1}, {rig.floats(x), rig.ints(positions)});
        for (size_t t = 0; t < 18; ++t) {
            const auto alone = rig.run(rope, {180, 1, 1, 1},
                                       {rig.floats(std::span(x).subspan(t * 180, 180)),
                                        rig.ints(std::span(positions).subspan(t, 1))});
            EXPECT_TRUE(
                std::ranges::equal(alone.values, std::span(all.values).subspan(t * 180, 180)));
        }
    }
}

// Frequencies are kept between calls: another rotation must not see them.
TEST(MetalRope, FollowsChangesOfFrequencyAndHeadSize) {
    auto rig = metal_rig();
    const auto x = random_floats(128, 5);
    const auto in = rig.floats(x);
    const auto positions = std::vector<int32_t>{77, 500};
    for (const size_t repeat : {0, 1}) {
        for (const float base : {1e4f, 1e6f}) {
            for (const float scale : {1.f, 0.25f}) {
                for (const size_t head_dim : {32, 64}) {
                    const auto rope = op::Rope{.freq_base = base,
                                               .freq_scale = scale,
                                               .n_head = 64 / head_dim,
                                               .head_dim = head_dim};
                    const auto got = rig.run(rope, {64, 2, 1, 1}, {in, rig.ints(positions)});
                    const auto want = reference::rope(rope, reference::widened(x), positions);
                    EXPECT_LE(nmse(got.values, want), kRopeBar) << repeat;
                }
            }
        }
    }
}

TEST(MetalRope, FrequenciesAreChargedToTheBudget) {
    const auto rotate = [](size_t budget) {
        auto rig = metal_rig({.memory_budget_bytes = budget});
        const auto x = rig.floats(random_floats(64, 6));
        const auto zero = rig.ints(std::vector<int32_t>{0});
        const auto held = rig.backend().pool_bytes();
        const auto rope = op::Rope{.n_head = 2, .head_dim = 32};
        const auto error = rig.execute(rope, {64, 1, 1, 1}, std::vector{x, zero}, x);
        return std::pair(error, rig.backend().pool_bytes() - held);
    };
    constexpr size_t kOperands = 256 + 4 + 2 * 36 * 4;  // with what the rig puts around them
    EXPECT_EQ(rotate(kOperands + 64), std::pair(std::string(), size_t{64}));
    const auto [error, grown] = rotate(kOperands + 63);
    EXPECT_THAT(error, HasSubstr("64 more exceed the device budget of"));
    EXPECT_EQ(grown, 0u);
}

TEST(MetalRope, ANegativePositionAndAnOddHeadAreRefused) {
    auto rig = metal_rig();
    const auto x = rig.floats(random_floats(8, 6));
    const auto negative = rig.ints(std::vector<int32_t>{0, -3});
    const auto rope = op::Rope{.n_head = 1, .head_dim = 4};
    EXPECT_THAT(rig.run(rope, {4, 2, 1, 1}, {x, negative}).error,
                HasSubstr("position -3 of token 1"));
    const auto valid = rig.ints(std::vector<int32_t>{0, 3});
    EXPECT_EQ(rig.run(rope, {4, 2, 1, 1}, {x, valid}).error, "");
    EXPECT_THAT(rig.run(op::Rope{.n_head = 1, .head_dim = 1}, {4, 2, 1, 1}, {x, valid}).error,
                HasSubstr("8 elements are not rows of 1 heads of 1"));
}

}  // namespace
}  // namespace minfer::test
