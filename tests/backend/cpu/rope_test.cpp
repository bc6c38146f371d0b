#include <cmath>

#include "backend/cpu/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuRope);

std::vector<double> rotated(const op::Rope& rope, std::span<const float> x,
                            std::span<const int32_t> positions) {
    return reference::rope(rope, reference::widened(x), positions);
}

TEST_P(CpuRope, RotatesBothStylesAndOddHeadSizes) {
    const auto positions = std::vector<int32_t>{0, 1, 777, 32000};
    for (const auto style : {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved}) {
        for (const size_t head_dim : {2, 10, 64, 128, 320}) {
            auto rig = Rig(options());
            const auto rope =
                op::Rope{.style = style, .freq_base = 1e6f, .n_head = 3, .head_dim = head_dim};
            const auto x = random_floats(3 * head_dim * 4, 1);
            const auto got =
                rig.run(rope, {3 * head_dim, 4, 1, 1}, {rig.floats(x), rig.ints(positions)});
            EXPECT_EQ(got.error, "");
            EXPECT_LE(nmse(got.values, rotated(rope, x, positions)), kRopeBar) << head_dim;
        }
    }
}

TEST_P(CpuRope, PositionZeroChangesNothing) {
    auto rig = Rig(options());
    const auto x = random_floats(64, 2);
    const auto rope = op::Rope{.n_head = 2, .head_dim = 32};
    const auto zero = std::vector<int32_t>{0};
    EXPECT_EQ(rig.run(rope, {64, 1, 1, 1}, {rig.floats(x), rig.ints(zero)}).values, x);
}

// The angles are kept between calls: neither a new position nor another rotation may see old ones.
TEST_P(CpuRope, FollowsChangesOfPositionAndFrequency) {
    auto rig = Rig(options());
    const auto x = random_floats(2 * 32 * 2, 3);
    const auto in = rig.floats(x);
    for (const auto& positions : {std::vector<int32_t>{5, 6}, {6, 7}, {5, 6}, {5, 6}}) {
        for (const float base : {1e4f, 1e6f}) {
            for (const float scale : {1.f, 0.25f}) {
                const auto rope =
                    op::Rope{.freq_base = base, .freq_scale = scale, .n_head = 2, .head_dim = 32};
                EXPECT_LE(nmse(rig.run(rope, {64, 2, 1, 1}, {in, rig.ints(positions)}).values,
                               rotated(rope, x, positions)),
                          kRopeBar);
            }
        }
    }
}

TEST_P(CpuRope, WritesOverItsSource) {
    auto rig = Rig(options());
    const auto positions = rig.ints(std::vector<int32_t>{9, 4});
    for (const auto style : {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved}) {
        const auto rope = op::Rope{.style = style, .n_head = 2, .head_dim = 20};
        const auto place = rig.floats(random_floats(80, 4));
        const auto apart = rig.run(rope, {40, 2, 1, 1}, {place, positions}).values;
        EXPECT_EQ(rig.execute(rope, {40, 2, 1, 1}, std::vector{place, positions}, place), "");
        EXPECT_TRUE(std::ranges::equal(rig.view(place), apart));
    }
}

TEST_P(CpuRope, ATokenHasTheSameBitsAloneAndAmongOthers) {
    auto rig = Rig(options());
    const auto x = random_floats(64 * 3, 5);
    const auto rope = op::Rope{.n_head = 1, .head_dim = 64};
    const auto positions = std::vector<int32_t>{70, 71, 72};
    const auto all = rig.run(rope, {64, 3, 1, 1}, {rig.floats(x), rig.ints(positions)}).values;
    for (size_t t = 0; t < 3; ++t) {
        const auto alone = rig.run(rope, {64, 1, 1, 1},
                                   {rig.floats(std::span(x).subspan(t * 64, 64)),
                                    rig.ints(std::span(positions).subspan(t, 1))});
        EXPECT_TRUE(std::ranges::equal(alone.values, std::span(all).subspan(t * 64, 64)));
    }
}

TEST_P(CpuRope, ANegativePositionIsRefused) {
    auto rig = Rig(options());
    const auto error =
        rig.run(op::Rope{.n_head = 1, .head_dim = 4}, {4, 2, 1, 1},
                {rig.floats(random_floats(8, 1)), rig.ints(std::vector<int32_t>{0, -3})})
            .error;
    EXPECT_NE(error.find("position -3 of token 1"), std::string::npos) << error;
}

}  // namespace
}  // namespace minfer::test
