#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace minfer {
namespace {

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

TEST(ThreadPool, WorkersTakePartAndComeBackAfterTheySlept) {
    ThreadPool pool(2);
    for (int round = 0; round < 5; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        // Two chunks that both wait for each other: finishing takes two threads.
        std::atomic<int> arrived{0};
        pool.parallel_for(2, 1, [&](size_t, size_t, int) {
            ++arrived;
            while (arrived < 2) std::this_thread::yield();
        });
        EXPECT_EQ(arrived, 2);
    }
}

TEST(ThreadPool, WorkersNeverRunALoopThatIsOver) {
    // Each loop's state dies as soon as parallel_for returns; a late worker would write into it.
    ThreadPool pool(4);
    for (int round = 0; round < 3000; ++round) {
        std::vector<int> seen(3, 0);
        pool.parallel_for(3, 1, [&](size_t begin, size_t, int) { ++seen[begin]; });
        ASSERT_EQ(seen, std::vector<int>(3, 1));
    }
}

}  // namespace
}  // namespace minfer
