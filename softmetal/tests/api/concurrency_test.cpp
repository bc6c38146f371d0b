// Programs that use one device from everywhere at once, and programs that end in the middle.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Concurrency : public Metal {
  protected:
    void SetUp() override {
        Metal::SetUp();
        increment = pipeline(kKernels, "increment");
    }
    void TearDown() override {
        increment.reset();
        Metal::TearDown();
    }
    MTL::CommandBuffer* encoded(MTL::CommandQueue* on, MTL::Buffer* out) {
        auto* commands = on->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(increment.get());
        encoder->setBuffer(out, 0, 0);
        encoder->dispatchThreads({out->length() / 4, 1, 1}, {16, 1, 1});
        encoder->endEncoding();
        return commands;
    }

    NS::SharedPtr<MTL::ComputePipelineState> increment;
};

TEST_F(Concurrency, ManyThreadsUseOneDevice) {
    constexpr int kThreads = 8, kTurns = 20;
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
                // Half of them share a queue.
                const auto own = t % 2 ? NS::TransferPtr(device->newCommandQueue()) : queue;
                const auto source =
                    "kernel void k" + std::to_string(t) +
                    "(device uint* out [[buffer(0)]]) { out[0] = " + std::to_string(t) + "; }";
                const auto compiled = pipeline(source, "k" + std::to_string(t));
                for (int turn = 0; turn < kTurns; ++turn) {
                    const auto out = buffer(256);
                    if (run(encoded(own.get(), out.get())).empty() &&
                        values<uint32_t>(out.get()) == std::vector<uint32_t>(64, 1)) {
                        ++right;
                    }
                }
                const auto out = buffer(4);
                auto* commands = own->commandBuffer();
                auto* encoder = commands->computeCommandEncoder();
                encoder->setComputePipelineState(compiled.get());
                encoder->setBuffer(out.get(), 0, 0);
                encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
                encoder->endEncoding();
                EXPECT_EQ(run(commands), "");
                EXPECT_EQ(values<uint32_t>(out.get())[0], static_cast<uint32_t>(t));
            });
        }
    }
    EXPECT_EQ(right, kThreads * kTurns);
}

TEST_F(Concurrency, HandlersCommitMoreWork) {
    constexpr uint32_t kRounds = 200;  // more than the queue holds at a time
    const auto out = buffer(64);
    std::promise<void> done;
    uint32_t round = 0;
    std::function<void(MTL::CommandBuffer*)> next = [&](MTL::CommandBuffer*) {
        if (++round == kRounds) return done.set_value();
        auto* commands = encoded(queue.get(), out.get());
        commands->addCompletedHandler(MTL::HandlerFunction(next));
        commands->commit();
    };
    auto* first = encoded(queue.get(), out.get());
    first->addCompletedHandler(MTL::HandlerFunction(next));
    first->commit();
    ASSERT_EQ(done.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_THAT(values<uint32_t>(out.get()), testing::Each(kRounds));
}

TEST_F(Concurrency, EverythingMayBeReleasedWhileWorkIsInFlight) {
    const auto event = NS::TransferPtr(device->newSharedEvent());
    std::promise<uint32_t> seen;
    {
        const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        const auto out = buffer(64);
        auto* waits = queue->commandBuffer();
        waits->encodeWait(event.get(), 1);
        waits->commit();
        auto* commands = encoded(queue.get(), out.get());
        commands->addCompletedHandler(MTL::HandlerFunction([&seen, out](MTL::CommandBuffer*) {
            seen.set_value(values<uint32_t>(out.get())[15]);
        }));
        commands->commit();
    }
    increment.reset();
    queue.reset();
    device.reset();
    event->setSignaledValue(1);
    auto result = seen.get_future();
    ASSERT_EQ(result.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_EQ(result.get(), 1u);
}

using ConcurrencyDeathTest = Concurrency;

// An exit does not wait for work that cannot end.
TEST_F(ConcurrencyDeathTest, AProgramExitsWhileWorkWaitsForAnEventForEver) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            alarm(30);
            const auto event = NS::TransferPtr(device->newSharedEvent());
            auto* commands = queue->commandBuffer();
            commands->encodeWait(event.get(), 1);
            commands->commit();
            commands->waitUntilScheduled();
            if (event->waitUntilSignaledValue(1, 20)) _exit(1);
            std::exit(7);
        },
        testing::ExitedWithCode(7), "");
}

// As main() does that returns: what it holds is released first, with work in flight.
TEST_F(ConcurrencyDeathTest, AProgramReleasesItAllAndExitsWhileWorkWaitsForEver) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            alarm(30);
            {
                const auto event = NS::TransferPtr(device->newEvent());
                auto* commands = queue->commandBuffer();
                commands->encodeWait(event.get(), 1);
                commands->commit();
                commands->waitUntilScheduled();
            }
            TearDown();
            std::exit(7);
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace softmetal::test
