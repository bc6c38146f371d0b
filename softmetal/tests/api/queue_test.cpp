#include <atomic>
#include <chrono>
#include <future>
#include <semaphore>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Queue : public Metal {
  protected:
    // Appends `value` to the list in `out`, whose first word counts.
    MTL::CommandBuffer* appending(MTL::Buffer* out, uint32_t value) {
        if (!append_) {
            append_ = pipeline(R"(
                #include <metal_stdlib>
                kernel void append(device uint* list [[buffer(0)]],
                                   constant uint& value [[buffer(1)]]) {
                    list[++list[0]] = value;
                })",
                               "append");
        }
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(append_.get());
        encoder->setBuffer(out, 0, 0);
        encoder->setBytes(&value, 4, 1);
        encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
        encoder->endEncoding();
        return commands;
    }

    void TearDown() override {
        append_.reset();
        Metal::TearDown();
    }

    NS::SharedPtr<MTL::ComputePipelineState> append_;
};

TEST_F(Queue, RunsCommandBuffersInTheOrderOfCommit) {
    const auto list = buffer(64);
    auto* second = appending(list.get(), 2);
    auto* first = appending(list.get(), 1);
    first->commit();
    second->commit();
    second->waitUntilCompleted();
    EXPECT_EQ(first->status(), MTL::CommandBufferStatusCompleted);
    const auto words = values<uint32_t>(list.get());
    EXPECT_THAT(std::vector(words.begin(), words.begin() + 3), testing::ElementsAre(2, 1, 2));
}

TEST_F(Queue, RunsCommandBuffersInTheOrderOfEnqueueing) {
    const auto list = buffer(64);
    auto* first = appending(list.get(), 1);
    auto* second = appending(list.get(), 2);
    first->enqueue();
    second->enqueue();
    second->commit();
    first->commit();
    second->waitUntilCompleted();
    const auto words = values<uint32_t>(list.get());
    EXPECT_THAT(std::vector(words.begin(), words.begin() + 3), testing::ElementsAre(2, 1, 2));
}

TEST_F(Queue, HoldsACommandBufferUntilTheOneBeforeIsCommitted) {
    auto* first = queue->commandBuffer();
    auto* second = queue->commandBuffer();
    first->enqueue();
    second->commit();
    EXPECT_EQ(second->status(), MTL::CommandBufferStatusCommitted);
    first->commit();
    second->waitUntilCompleted();
    EXPECT_EQ(first->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(Queue, GoesOnWhenAnEnqueuedCommandBufferIsDropped) {
    auto* second = queue->commandBuffer();
    {
        const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        queue->commandBuffer()->enqueue();
        second->commit();
        EXPECT_EQ(second->status(), MTL::CommandBufferStatusCommitted);
    }
    second->waitUntilCompleted();
    EXPECT_EQ(second->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(Queue, DoesNotWaitForAnotherQueue) {
    const auto other = NS::TransferPtr(device->newCommandQueue());
    // Held up: the one before it is never committed until the end.
    auto* blocker = queue->commandBuffer();
    blocker->enqueue();
    auto* held = queue->commandBuffer();
    held->commit();
    auto* free = other->commandBuffer();
    free->commit();
    free->waitUntilCompleted();
    EXPECT_EQ(free->status(), MTL::CommandBufferStatusCompleted);
    EXPECT_EQ(held->status(), MTL::CommandBufferStatusCommitted);
    blocker->commit();
    held->waitUntilCompleted();
}

TEST_F(Queue, RunsManyQueuesFromManyThreads) {
    const auto increment = pipeline(kKernels, "increment");
    std::vector<std::future<std::string>> threads;
    for (int t = 0; t < 4; ++t) {
        threads.push_back(std::async(std::launch::async, [&] {
            const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
            const auto mine = NS::TransferPtr(device->newCommandQueue());
            const auto out = buffer(256 * 4);
            MTL::CommandBuffer* last = nullptr;
            for (int i = 0; i < 20; ++i) {
                last = mine->commandBuffer();
                auto* encoder = last->computeCommandEncoder();
                encoder->setComputePipelineState(increment.get());
                encoder->setBuffer(out.get(), 0, 0);
                encoder->dispatchThreads({256, 1, 1}, {64, 1, 1});
                encoder->endEncoding();
                last->commit();
            }
            last->waitUntilCompleted();
            for (const uint32_t word : values<uint32_t>(out.get())) {
                if (word != 20) return "a word is " + std::to_string(word);
            }
            return std::string();
        }));
    }
    for (auto& thread : threads) EXPECT_EQ(thread.get(), "");
}

TEST_F(Queue, MakesTheProgramWaitForAFreeCommandBuffer) {
    const auto narrow = NS::TransferPtr(device->newCommandQueue(2));
    auto* first = narrow->commandBuffer();
    narrow->commandBuffer();
    std::atomic<bool> is_made = false;
    auto third = std::async(std::launch::async, [&] {
        const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        EXPECT_NE(narrow->commandBuffer(), nullptr);
        is_made = true;
    });
    EXPECT_EQ(third.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    EXPECT_FALSE(is_made);
    first->commit();
    ASSERT_EQ(third.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_TRUE(is_made);
}

TEST_F(Queue, CanBeMadeFromADescriptor) {
    const auto descriptor = NS::TransferPtr(MTL::CommandQueueDescriptor::alloc()->init());
    EXPECT_EQ(descriptor->maxCommandBufferCount(), 64u);
    descriptor->setMaxCommandBufferCount(3);
    const auto made = NS::TransferPtr(device->newCommandQueue(descriptor.get()));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->device(), device.get());
    made->setLabel(text("transfers"));
    EXPECT_EQ(text(made->label()), "transfers");
}

TEST_F(Queue, MayGoBeforeItsWorkIsDone) {
    const auto out = buffer(4);
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(out.get(), NS::Range(0, 4), 5);
    blit->endEncoding();
    commands->commit();
    queue.reset();
    commands->waitUntilCompleted();
    EXPECT_THAT(values<uint8_t>(out.get()), testing::Each(5));
}

}  // namespace
}  // namespace softmetal::test
