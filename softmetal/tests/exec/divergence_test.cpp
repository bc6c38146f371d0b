// Lanes and threads that do not stand at one place.
#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Divergence : public ::testing::Test {
  protected:
    std::shared_ptr<const Module> module = load_module("threads");
    std::vector<uint32_t> out = std::vector<uint32_t>(128);
};

TEST_F(Divergence, OfLanesIsReportedWithBothPlaces) {
    const std::string error = error_of(launch_of(module, "nested", 32, 32, {out.data()}));
    EXPECT_THAT(
        error,
        AllOf(StartsWith("threads.cpp:"), HasSubstr("kernel 'nested'"),
              HasSubstr("lanes of SIMD group 0"), HasSubstr(": threads 0-19 at threads.cpp:"),
              HasSubstr("; threads 20-31 at threads.cpp:"), HasSubstr("threadgroup (0, 0, 0)")));
}

TEST_F(Divergence, IsServedInTurnsWhenAsked) {
    auto launch = launch_of(module, "nested", 32, 32, {out.data()});
    launch.serve_lowest_site_first = true;
    EXPECT_EQ(error_of(launch), "");
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t quad_sum = (lane & ~3u) * 4 + 6;
        EXPECT_EQ(out[2 * lane], lane < 5    ? 20 + 100 * 5
                                 : lane < 20 ? 20 + 1000 * 15
                                             : 2 * 12 + 10000 * quad_sum);
        EXPECT_EQ(out[2 * lane + 1], 32u);  // together again
    }
}

TEST_F(Divergence, OfBarriersIsReportedWithBothPlaces) {
    EXPECT_THAT(error_of(launch_of(module, "two_barriers", 70, 70, {out.data()})),
                AllOf(StartsWith("threads.cpp:"),
                      HasSubstr("threads wait at different threadgroup barriers: threads 0-39 at "),
                      HasSubstr("; threads 40-69 at threads.cpp:")));
}

TEST_F(Divergence, OfBarriersIsServedInTurnsWhenAsked) {
    auto launch = launch_of(module, "two_barriers", 70, 70, {out.data()});
    launch.serve_lowest_site_first = true;
    EXPECT_EQ(error_of(launch), "");
    for (uint32_t i = 0; i < 70; ++i) EXPECT_EQ(out[i], i < 40 ? 1u : 2u);
}

TEST_F(Divergence, BetweenABarrierAndASimdFunction) {
    EXPECT_THAT(error_of(launch_of(module, "barrier_and_exchange", 32, 32)),
                AllOf(HasSubstr("lanes of SIMD group 0"), HasSubstr("thread (3, 0, 0) at"),
                      HasSubstr("threads 0-2, 4-31 at")));
}

TEST_F(Divergence, OfTwoCallsOnOneLine) {
    EXPECT_THAT(error_of(launch_of(module, "same_line", 32, 32, {out.data()})),
                HasSubstr("in different calls on that line"));
    auto launch = launch_of(module, "same_line", 32, 32, {out.data()});
    launch.serve_lowest_site_first = true;
    EXPECT_EQ(error_of(launch), "");
    EXPECT_THAT(std::vector(out.begin(), out.begin() + 32), Each(16u));
}

TEST_F(Divergence, AThreadThatReturnsBeforeABarrierIsReportedInCheckedRuns) {
    uint32_t limit = 60;
    auto launch = launch_of(module, "return_before_barrier", 64, 64, {out.data(), &limit});
    launch.checks = Checks::Bounds;
    EXPECT_THAT(
        error_of(launch),
        AllOf(StartsWith("threads.cpp:"), HasSubstr("kernel 'return_before_barrier'"),
              HasSubstr("4 of 64 threads will never reach"), HasSubstr("threads 60-63 returned")));
    limit = 64;
    EXPECT_EQ(error_of(launch), "");
}

TEST_F(Divergence, OtherwiseTheRestGoesOn) {
    uint32_t limit = 60;
    EXPECT_EQ(error_of(launch_of(module, "return_before_barrier", 64, 64, {out.data(), &limit})),
              "");
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i < 60 ? 7u : 0u);
}

TEST_F(Divergence, LeavesTheExecutorUsable) {
    auto executor = Executor(1);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(executor.run(launch_of(module, "nested", 3200, 32, {out.data()})));
        auto numbers = std::vector<uint32_t>(640);
        EXPECT_TRUE(executor.run(launch_of(module, "reverse", 640, 64, {numbers.data()})));
        EXPECT_EQ(numbers[0], 63u);
    }
}

}  // namespace
}  // namespace softmetal::exec
