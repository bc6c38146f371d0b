#include <atomic>
#include <thread>

#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Executor, ResultsDoNotDependOnWorkersOrOrder) {
    const auto module = load_module("threads");
    uint32_t rounds = 5, n = 32;
    const auto all = [&](int workers, uint64_t seed) {
        auto executor = Executor(workers);
        auto out = std::vector<uint32_t>(5000), more = std::vector<uint32_t>(6400);
        auto launch = launch_of(module, "rounds", 5000, 96, {out.data(), &rounds});
        launch.order_seed = seed;
        EXPECT_TRUE(executor.run(launch));
        launch = launch_of(module, "run_ahead", 6400, 32, {more.data(), &n});
        launch.order_seed = seed;
        EXPECT_TRUE(executor.run(launch));
        out.insert(out.end(), more.begin(), more.end());
        return out;
    };
    const auto expected = all(1, 0);
    for (const int workers : {1, 2, 3, 8}) {
        for (const uint64_t seed : {0, 1, 99}) EXPECT_EQ(all(workers, seed), expected);
    }
}

TEST(Executor, ManyThreadsMayRunGridsAtOnce) {
    const auto module = load_module("threads");
    auto executor = Executor(3);
    std::atomic<int> good = 0;
    {
        auto hosts = std::vector<std::jthread>();
        for (int i = 0; i < 4; ++i) {
            hosts.emplace_back([&] {
                for (int round = 0; round < 30; ++round) {
                    auto out = std::vector<uint32_t>(6400);
                    const auto result =
                        executor.run(launch_of(module, "reverse", 6400, 64, {out.data()}));
                    bool is_right = result && result->barriers == 100;
                    for (uint32_t j = 0; j < 6400; ++j) is_right &= out[j] == (j ^ 63);
                    good += is_right;
                }
            });
        }
    }
    EXPECT_EQ(good, 4 * 30);
}

TEST(Executor, EveryThreadRunsOnce) {
    const auto module = load_module("threads");
    auto executor = Executor(4);
    for (const uint32_t per_group : {1u, 17u, 1024u}) {
        uint32_t count = 0;
        EXPECT_TRUE(executor.run(launch_of(module, "count_up", 100'000, per_group, {&count})));
        EXPECT_EQ(count, 100'000u);
    }
}

TEST(Executor, CanBeToldToAbandonAGrid) {
    const auto module = load_module("threads");
    uint32_t count = 0;
    std::atomic<bool> stop = false;
    auto launch = launch_of(module, "count_up", 100, 1, {&count, &stop});
    launch.abandon = &stop;
    EXPECT_THAT(error_of(launch), HasSubstr("abandoned"));
    EXPECT_EQ(count, 4u);
    EXPECT_THAT(error_of(launch), HasSubstr("abandoned"));
    EXPECT_EQ(count, 4u);
}

TEST(Executor, HandsOverWhatKernelsLog) {
    const auto module = load_module("threads");
    auto lines = std::vector<std::string>();
    auto launch = launch_of(module, "log", 2, 2);
    launch.log = [&lines](const LogMessage& message) { lines.push_back(described(message)); };
    EXPECT_EQ(error_of(launch), "");
    EXPECT_THAT(lines, ElementsAre("[tests:exec] error: hello", "[tests:exec] error: hello"));
}

}  // namespace
}  // namespace softmetal::exec
