// The life cycle of a command buffer, as Apple documents it.
#include <atomic>
#include <future>
#include <mutex>
#include <semaphore>
#include <thread>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class CommandBuffer : public Metal {};

TEST_F(CommandBuffer, GoesThroughItsStatesInOrder) {
    auto* commands = queue->commandBuffer();
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusNotEnqueued);
    commands->enqueue();
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusEnqueued);
    commands->commit();
    EXPECT_GE(commands->status(), MTL::CommandBufferStatusCommitted);
    commands->waitUntilScheduled();
    EXPECT_GE(commands->status(), MTL::CommandBufferStatusScheduled);
    commands->waitUntilCompleted();
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
    EXPECT_EQ(commands->error(), nullptr);
}

TEST_F(CommandBuffer, KnowsWhereItComesFrom) {
    auto* commands = queue->commandBuffer();
    EXPECT_EQ(commands->device(), device.get());
    EXPECT_EQ(commands->commandQueue(), queue.get());
    commands->setLabel(text("frame 1"));
    EXPECT_EQ(text(commands->label()), "frame 1");
}

TEST_F(CommandBuffer, CallsItsHandlersOnAnotherThreadInOrder) {
    std::mutex mutex;
    std::vector<std::string> calls;
    std::thread::id thread;
    const auto note = [&](const char* what) {
        const auto lock = std::lock_guard(mutex);
        calls.emplace_back(what);
        thread = std::this_thread::get_id();
    };
    auto* commands = queue->commandBuffer();
    commands->addCompletedHandler(
        MTL::HandlerFunction([&](MTL::CommandBuffer*) { note("completed 1"); }));
    commands->addScheduledHandler(
        MTL::HandlerFunction([&](MTL::CommandBuffer*) { note("scheduled 1"); }));
    commands->addCompletedHandler(
        MTL::HandlerFunction([&](MTL::CommandBuffer*) { note("completed 2"); }));
    commands->addScheduledHandler(
        MTL::HandlerFunction([&](MTL::CommandBuffer*) { note("scheduled 2"); }));
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(calls,
                testing::ElementsAre("scheduled 1", "scheduled 2", "completed 1", "completed 2"));
    EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_F(CommandBuffer, IsCompletedWhenItsHandlerIsCalled) {
    MTL::CommandBufferStatus seen = MTL::CommandBufferStatusNotEnqueued;
    MTL::CommandBuffer* given = nullptr;
    auto* commands = queue->commandBuffer();
    commands->addCompletedHandler(MTL::HandlerFunction([&](MTL::CommandBuffer* buffer) {
        given = buffer;
        seen = buffer->status();
    }));
    EXPECT_EQ(run(commands), "");
    EXPECT_EQ(given, commands);
    EXPECT_EQ(seen, MTL::CommandBufferStatusCompleted);
}

TEST_F(CommandBuffer, LetsAHandlerWaitForItself) {
    std::atomic<bool> waited = false;
    auto* commands = queue->commandBuffer();
    commands->addCompletedHandler(MTL::HandlerFunction([&](MTL::CommandBuffer* buffer) {
        buffer->waitUntilCompleted();
        waited = true;
    }));
    EXPECT_EQ(run(commands), "");
    EXPECT_TRUE(waited);
}

TEST_F(CommandBuffer, LetsAHandlerCommitMoreWork) {
    const auto out = buffer(4);
    std::binary_semaphore done(0);
    auto* first = queue->commandBuffer();
    first->addCompletedHandler(MTL::HandlerFunction([&](MTL::CommandBuffer*) {
        auto* second = queue->commandBuffer();
        auto* blit = second->blitCommandEncoder();
        blit->fillBuffer(out.get(), NS::Range(0, 4), 1);
        blit->endEncoding();
        second->addCompletedHandler(
            MTL::HandlerFunction([&](MTL::CommandBuffer*) { done.release(); }));
        second->commit();
    }));
    first->commit();
    ASSERT_TRUE(done.try_acquire_for(std::chrono::seconds(20)));
    EXPECT_THAT(values<uint8_t>(out.get()), testing::Each(1));
}

TEST_F(CommandBuffer, LivesUntilItHasRun) {
    const auto out = buffer(4);
    std::binary_semaphore done(0);
    {
        const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        auto* commands = queue->commandBuffer();
        auto* blit = commands->blitCommandEncoder();
        blit->fillBuffer(out.get(), NS::Range(0, 4), 9);
        blit->endEncoding();
        commands->addCompletedHandler(
            MTL::HandlerFunction([&](MTL::CommandBuffer*) { done.release(); }));
        commands->commit();
    }
    ASSERT_TRUE(done.try_acquire_for(std::chrono::seconds(20)));
    EXPECT_THAT(values<uint8_t>(out.get()), testing::Each(9));
}

TEST_F(CommandBuffer, TellsWhenItRan) {
    const auto spin = pipeline(kKernels, "spin");
    const auto out = buffer(4);
    auto* commands = queue->commandBuffer();
    EXPECT_EQ(commands->GPUStartTime(), 0);
    EXPECT_EQ(commands->GPUEndTime(), 0);
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(spin.get());
    const uint32_t turns = 100000;
    encoder->setBuffer(out.get(), 0, 0);
    encoder->setBytes(&turns, 4, 1);
    encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_GT(commands->GPUStartTime(), 0);
    EXPECT_GT(commands->GPUEndTime(), commands->GPUStartTime());
    EXPECT_LE(commands->kernelStartTime(), commands->kernelEndTime());
    EXPECT_LE(commands->kernelStartTime(), commands->GPUStartTime());
}

TEST_F(CommandBuffer, RetainsWhatItUsesUnlessToldNotTo) {
    EXPECT_TRUE(queue->commandBuffer()->retainedReferences());
    EXPECT_FALSE(queue->commandBufferWithUnretainedReferences()->retainedReferences());
    const auto descriptor = NS::TransferPtr(MTL::CommandBufferDescriptor::alloc()->init());
    EXPECT_TRUE(descriptor->retainedReferences());
    descriptor->setRetainedReferences(false);
    descriptor->setErrorOptions(MTL::CommandBufferErrorOptionEncoderExecutionStatus);
    auto* commands = queue->commandBuffer(descriptor.get());
    EXPECT_FALSE(commands->retainedReferences());
    EXPECT_EQ(commands->errorOptions(), MTL::CommandBufferErrorOptionEncoderExecutionStatus);
}

TEST_F(CommandBuffer, WithoutRetainedReferencesRunsOnWhatIsStillThere) {
    const auto out = buffer(4);
    auto* commands = queue->commandBufferWithUnretainedReferences();
    const auto before = out->retainCount();
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(out.get(), NS::Range(0, 4), 3);
    blit->endEncoding();
    EXPECT_EQ(out->retainCount(), before);
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint8_t>(out.get()), testing::Each(3));
}

TEST_F(CommandBuffer, MayBeCommittedByAnotherThread) {
    auto* commands = queue->commandBuffer();
    std::async(std::launch::async, [&] { commands->commit(); }).get();
    auto waiter = std::async(std::launch::async, [&] { commands->waitUntilCompleted(); });
    ASSERT_EQ(waiter.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
}

}  // namespace
}  // namespace softmetal::test
