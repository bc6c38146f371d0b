#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace minfer {
namespace {

TEST(ThreadPool, RunsEveryWorkerOncePerJob) {
    for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        std::vector<int> calls(static_cast<size_t>(threads), 0);
        for (int job = 0; job < 500; ++job)
            pool.run([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
        EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(threads), 500));
    }
}

TEST(ThreadPool, ParallelForCoversEachIndexOnce) {
    ThreadPool pool(3);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{1000}}) {
        std::vector<std::atomic<int>> seen(count);
        pool.parallel_for(count, 3, [&](size_t begin, size_t end, int) {
            for (size_t i = begin; i < end; ++i) ++seen[i];
        });
        for (auto& n : seen) EXPECT_EQ(n, 1);
    }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
    ThreadPool pool(4);
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::atomic<int> calls{0};
        pool.run([&](int) { ++calls; });
        EXPECT_EQ(calls, 4);
    }
}

}  // namespace
}  // namespace minfer
