#include "softmetal/exec/fiber.h"

#include <gtest/gtest.h>

#include <vector>

namespace softmetal::exec {
namespace {

// A worker that counts what its fibers do.
struct Counter {
    Fiber main = fiber_of_this_thread();
    Fiber* running = nullptr;
    int rounds = 0;
    double sum = 0;
    FiberPool pool = FiberPool(&Counter::run, this);

    static void run(void* argument) {
        auto& self = *static_cast<Counter*>(argument);
        Fiber& own = *self.running;
        double local = 0.5;  // must survive the switches, in a register or on the stack
        for (int round = 1;; ++round) {
            self.rounds += 1;
            self.sum += local * round;
            switch_fiber(own, self.main);
        }
    }
    void enter(Fiber* fiber) {
        running = fiber;
        switch_fiber(main, *fiber);
    }
};

TEST(Fiber, GoesOnWhereItStood) {
    auto counter = Counter();
    Fiber* first = counter.pool.take();
    Fiber* second = counter.pool.take();
    ASSERT_NE(first, second);
    for (int i = 0; i < 3; ++i) counter.enter(first);
    for (int i = 0; i < 2; ++i) counter.enter(second);
    EXPECT_EQ(counter.rounds, 5);
    EXPECT_EQ(counter.sum, 0.5 * (1 + 2 + 3) + 0.5 * (1 + 2));
}

TEST(Fiber, StartsAfreshAfterItWasLeft) {
    auto counter = Counter();
    for (int i = 0; i < 100; ++i) counter.enter(counter.pool.take());
    counter.pool.renew();
    counter.sum = 0;
    for (int i = 0; i < 100; ++i) counter.enter(counter.pool.take());
    EXPECT_EQ(counter.sum, 100 * 0.5);
}

TEST(Fiber, KnowsTheGuardsBelowItsStacks) {
    auto counter = Counter();
    Fiber* fiber = counter.pool.take();
    EXPECT_TRUE(counter.pool.is_guard(fiber->stack_begin - 1));
    EXPECT_FALSE(counter.pool.is_guard(fiber->stack_begin));
    EXPECT_FALSE(counter.pool.is_guard(&counter));
}

TEST(Fiber, ThereIsRoomForAtLeastOnePool) {
    EXPECT_GE(FiberPool::most_pools(1024), 1u);
    EXPECT_GE(FiberPool::most_pools(1 << 20), 1u);
}

TEST(Fiber, StacksDoNotShareTheirCacheSets) {
    auto counter = Counter();
    auto sets = std::vector<int>(64);
    for (int i = 0; i < 64; ++i) {
        const auto top = reinterpret_cast<uintptr_t>(counter.pool.take()->stack_top);
        ++sets[top / 64 % 64];
    }
    for (const int in_set : sets) EXPECT_EQ(in_set, 1);
}

}  // namespace
}  // namespace softmetal::exec
