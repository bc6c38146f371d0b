#include <cmath>

#include "backend/cpu/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuNorm);

std::vector<double> rms_norm(std::span<const float> x, std::span<const float> weight, double eps) {
    return reference::rms_norm(reference::widened(x), weight, eps);
}

TEST_P(CpuNorm, RmsNormMatchesDoubleArithmetic) {
    for (const auto& shape : {Shape{1, 1, 1, 1}, {31, 3, 1, 1}, {4096, 1, 1, 1}, {4097, 7, 1, 1}}) {
        auto rig = Rig(options());
        const auto x = random_floats(elements(shape), 1, 5);
        const auto weight = random_floats(shape[0], 2);
        rig.weight("norm", weight);
        const auto got =
            rig.run(op::RmsNorm{.eps = 1e-6f, .weight = "norm"}, shape, {rig.floats(x)});
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, rms_norm(x, weight, double{1e-6f})), kNormBar);
    }
}

TEST_P(CpuNorm, QkNormTreatsEachHeadAsARow) {
    for (const size_t head_dim : {size_t{8}, size_t{20}, size_t{128}}) {
        auto rig = Rig(options());
        const auto x = random_floats(head_dim * 3 * 5, 3);
        const auto weight = random_floats(head_dim, 4);
        rig.weight("q_norm", weight);
        const auto norm =
            op::QkNorm{.eps = 1e-5f, .weight = "q_norm", .n_head = 3, .head_dim = head_dim};
        const auto got = rig.run(norm, {head_dim * 3, 5, 1, 1}, {rig.floats(x)});
        EXPECT_LE(nmse(got.values, rms_norm(x, weight, double{1e-5f})), kNormBar);
    }
}

TEST_P(CpuNorm, EpsilonCountsForSmallRows) {
    auto rig = Rig(options());
    const auto x = random_floats(64, 5, 1e-4f);
    const auto weight = std::vector<float>(64, 1.f);
    rig.weight("norm", weight);
    const auto got =
        rig.run(op::RmsNorm{.eps = 1e-5f, .weight = "norm"}, {64, 1, 1, 1}, {rig.floats(x)});
    EXPECT_LE(nmse(got.values, rms_norm(x, weight, double{1e-5f})), kNormBar);
    EXPECT_GT(nmse(got.values, rms_norm(x, weight, 0)), 0.1);
}

TEST_P(CpuNorm, SoftmaxIsTakenPerRow) {
    for (const auto& shape : {Shape{1, 1, 1, 1}, {3, 5, 1, 1}, {1001, 4, 1, 1}, {50000, 1, 1, 1}}) {
        auto rig = Rig(options());
        const auto x = random_floats(elements(shape), 6, 8);
        const auto want = reference::softmax(reference::widened(x), shape[0]);
        EXPECT_LE(nmse(rig.run(op::Softmax{}, shape, {rig.floats(x)}).values, want), kNormBar);
    }
}

TEST_P(CpuNorm, SoftmaxOfHugeScoresStaysFinite) {
    auto rig = Rig(options());
    const auto x = std::vector<float>{3e38f, -3e38f, 3e38f, 0};
    const auto got = rig.run(op::Softmax{}, {4, 1, 1, 1}, {rig.floats(x)}).values;
    EXPECT_EQ(got, (std::vector<float>{0.5f, 0, 0.5f, 0}));
}

TEST_P(CpuNorm, AWeightOfTheWrongWidthIsRefusedByName) {
    auto rig = Rig(options());
    rig.weight("blk.0.norm", random_floats(63, 1));
    const auto error = rig.run(op::RmsNorm{.weight = "blk.0.norm"}, {64, 1, 1, 1},
                               {rig.floats(random_floats(64, 1))})
                           .error;
    EXPECT_NE(error.find("'blk.0.norm' is F32 of 63 elements, F32 of 64"), std::string::npos)
        << error;
}

TEST_P(CpuNorm, AMissingWeightIsNamed) {
    auto rig = Rig(options());
    const auto error =
        rig.run(op::RmsNorm{.weight = "nowhere"}, {64, 1, 1, 1}, {rig.floats(random_floats(64, 1))})
            .error;
    EXPECT_NE(error.find("'nowhere' is not registered"), std::string::npos) << error;
}

}  // namespace
}  // namespace minfer::test
