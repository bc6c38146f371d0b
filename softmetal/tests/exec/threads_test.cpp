// What threads know of themselves, and how they meet.
#include <numeric>

#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::Each;

class Threads : public ::testing::Test {
  protected:
    std::shared_ptr<const Module> module = load_module("threads");
};

TEST_F(Threads, KnowWhereTheyAre) {
    const auto grid = Size3{.x = 7, .y = 5, .z = 3}, group = Size3{.x = 4, .y = 3, .z = 2};
    auto out = std::vector<std::array<uint32_t, 16>>(7 * 5 * 3);
    auto launch = launch_of(module, "identify", 1, 1, {out.data()});
    launch.threads = grid;
    launch.threads_per_threadgroup = group;
    const auto counters = run(launch);
    ASSERT_TRUE(counters) << counters.error();
    EXPECT_EQ(counters->threads, 105u);
    for (uint32_t z = 0; z < grid.z; ++z) {
        for (uint32_t y = 0; y < grid.y; ++y) {
            for (uint32_t x = 0; x < grid.x; ++x) {
                const uint32_t sx = x / 4 == 1 ? 3 : 4, sy = y / 3 == 1 ? 2 : 3,
                               sz = z / 2 == 1 ? 1 : 2;
                const uint32_t index = (z % 2 * sy + y % 3) * sx + x % 4;
                const uint32_t n = sx * sy * sz;
                EXPECT_THAT(
                    out[(z * 5 + y) * 7 + x],
                    ::testing::ElementsAre(x % 4, y % 3, z % 2, index, x / 4, y / 3, z / 2, sx, sy,
                                           sz, (n + 31) / 32, 1, (n + 3) / 4, 2, 4, 1));
            }
        }
    }
}

TEST_F(Threads, NoThreadsAreNothingToDo) {
    EXPECT_EQ(error_of(launch_of(module, "identify", 0, 32)), "");
}

TEST_F(Threads, ThreadgroupsHaveLimits) {
    EXPECT_THAT(error_of(launch_of(module, "identify", 5000, 1025)),
                ::testing::HasSubstr("a threadgroup of 1025 x 1 x 1 threads"));
    EXPECT_THAT(error_of(launch_of(module, "identify", 5000, 0)),
                ::testing::HasSubstr("allowed are 1 to 1024"));
}

class GroupSizes : public ::testing::TestWithParam<uint32_t> {
  protected:
    std::shared_ptr<const Module> module = load_module("threads");
    uint32_t n = GetParam();
};
INSTANTIATE_TEST_SUITE_P(All, GroupSizes,
                         ::testing::Values(1, 2, 31, 32, 33, 64, 65, 100, 256, 1000, 1024));

TEST_P(GroupSizes, ABarrierSeparatesWritesFromReads) {
    auto out = std::vector<uint32_t>(3 * n);
    const auto counters = run(launch_of(module, "reverse", 3 * n, n, {out.data()}));
    ASSERT_TRUE(counters) << counters.error();
    EXPECT_EQ(counters->barriers, 3u);
    for (uint32_t i = 0; i < 3 * n; ++i) EXPECT_EQ(out[i], i / n * n + n - 1 - i % n);
}

TEST_P(GroupSizes, BarriersInALoop) {
    uint32_t rounds = 77;
    auto out = std::vector<uint32_t>(2 * n);
    const auto counters = run(launch_of(module, "rounds", 2 * n, n, {out.data(), &rounds}));
    ASSERT_TRUE(counters) << counters.error();
    EXPECT_EQ(counters->barriers, 2u * 77);
    for (uint32_t i = 0; i < 2 * n; ++i)
        EXPECT_EQ(out[i], i / n * n + (i + 77 - i / n * n) % n + 77);
}

TEST_P(GroupSizes, SimdSumsAndBarriersTogether) {
    auto out = std::vector<uint32_t>(2 * n);
    auto launch = launch_of(module, "sum_groups", 2 * n, n, {out.data()});
    launch.threadgroup_bytes[0] = 4 * 32;
    EXPECT_EQ(error_of(launch), "");
    for (uint32_t i = 0; i < 2 * n; ++i) EXPECT_EQ(out[i], i / n * n * n + n * (n - 1) / 2);
}

// The same mixing as the kernel's, lane by lane with no concurrency.
void mix_all(std::vector<uint32_t>& values, uint32_t words) {
    const auto before = values;
    const auto n = static_cast<uint32_t>(values.size());
    for (uint32_t lane = 0; lane < n; ++lane) {
        uint32_t sum = 4 * words;
        for (uint32_t w = 0; w < words; ++w) {
            sum = sum * 31 + before[(lane * 7 + w + 1) % n] * (w + 1);
        }
        values[lane] = sum;
    }
}

TEST(Exchange, LanesThatRunAheadDisturbNobody) {
    const auto module = load_module("threads");
    for (uint32_t n = 1; n <= 32; ++n) {
        auto values = std::vector<uint32_t>(n);
        std::iota(values.begin(), values.end(), 0);
        for (int round = 0; round < 50; ++round) {
            for (const uint32_t words : {1, 16, 3}) mix_all(values, words);
            const auto before = values;
            for (uint32_t lane = 0; lane < n; ++lane) values[lane] += before[(lane + 1) % n] & 0xff;
        }
        auto out = std::vector<uint32_t>(n);
        EXPECT_EQ(error_of(launch_of(module, "run_ahead", n, n, {out.data(), &n})), "");
        EXPECT_EQ(out, values);
    }
}

TEST(Exchange, OnlyLanesThatHaveNotReturnedTakePart) {
    const auto module = load_module("threads");
    for (const uint32_t n : {7u, 32u, 40u}) {
        for (uint32_t limit = 1; limit <= n; ++limit) {
            auto out = std::vector<uint32_t>(2 * n);
            EXPECT_EQ(error_of(launch_of(module, "active", n, n, {out.data(), &limit})), "");
            for (uint32_t i = 0; i < n; ++i) {
                const uint32_t first = i / 32 * 32;
                const uint32_t lanes = std::min(limit - std::min(limit, first), 32u);
                const uint32_t set = lanes == 32 ? ~0u : (1u << lanes) - 1;
                EXPECT_EQ(out[2 * i], i < limit ? set : 0);
                EXPECT_EQ(out[2 * i + 1], i < limit ? set : 0);
            }
        }
    }
}

TEST(Exchange, LanesReturnOneAfterAnother) {
    const auto module = load_module("threads");
    auto out = std::vector<uint32_t>(32);
    EXPECT_EQ(error_of(launch_of(module, "peel", 32, 32, {out.data()})), "");
    for (uint32_t lane = 0, sum = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], sum += 32 - lane);
}

TEST(Exchange, QuadsMeetAmongThemselves) {
    const auto module = load_module("threads");
    for (const uint32_t n : {32u, 30u, 3u}) {
        auto out = std::vector<uint32_t>(n);
        EXPECT_EQ(error_of(launch_of(module, "quads", n, n, {out.data()})), "");
        auto sums = std::vector<uint32_t>(n);
        for (uint32_t lane = 0; lane < n; ++lane) {
            for (uint32_t round = 0; round <= lane / 4; ++round) {
                for (uint32_t other = lane & ~3u; other < std::min(n, (lane & ~3u) + 4); ++other) {
                    sums[lane] += other + round;
                }
            }
        }
        const uint32_t total = std::accumulate(sums.begin(), sums.end(), 0u);
        for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(out[i], total * 2 + (sums[i] & 1));
    }
}

TEST(ThreadgroupMemory, HoldsNoZerosInACheckedRun) {
    const auto module = load_module("threads");
    auto out = std::vector<uint32_t>(3);
    auto launch = launch_of(module, "first_read", 3, 1, {out.data()});
    launch.threadgroup_bytes[2] = 16;
    launch.checks = Checks::All;
    EXPECT_EQ(error_of(launch), "");
    EXPECT_THAT(out, Each(0xffffu));
}

TEST(Floats, RunInDefaultModesWhateverTheHostSet) {
    const auto module = load_module("threads");
    float in[2] = {0x1.8p-126f, 0x1p-126f}, out = 0;
#if defined(__x86_64__)
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040);  // flush subnormals to zero
#endif
    const std::string error = error_of(launch_of(module, "subtract", 1, 1, {&out, in}));
#if defined(__x86_64__)
    EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040, 0x8040u);
    __builtin_ia32_ldmxcsr(before);
#endif
    EXPECT_EQ(error, "");
    EXPECT_EQ(out, 0x1p-127f);
}

}  // namespace
}  // namespace softmetal::exec
