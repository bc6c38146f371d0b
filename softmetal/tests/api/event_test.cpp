// Events, shared events and fences. What is tested here holds on a Mac too.
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <atomic>
#include <cstring>
#include <semaphore>
#include <thread>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

using Event = Metal;
using SharedEvent = Metal;
using Fence = Metal;

constexpr uint64_t kLong = 10'000;  // ms: only waited for when something is broken

TEST_F(Event, OrdersTwoQueues) {
    auto second = NS::TransferPtr(device->newCommandQueue());
    auto event = NS::TransferPtr(device->newEvent());
    auto filled = buffer(4096);

    auto* reader = second->commandBuffer();
    reader->encodeWait(event.get(), 1);
    auto copied = buffer(4096);
    auto* blit = reader->blitCommandEncoder();
    blit->copyFromBuffer(filled.get(), 0, copied.get(), 0, 4096);
    blit->endEncoding();
    reader->commit();

    auto* writer = queue->commandBuffer();
    blit = writer->blitCommandEncoder();
    blit->fillBuffer(filled.get(), NS::Range(0, 4096), 7);
    blit->endEncoding();
    writer->encodeSignalEvent(event.get(), 1);
    writer->commit();

    reader->waitUntilCompleted();
    EXPECT_EQ(static_cast<const char*>(copied->contents())[4095], 7);
}

TEST_F(Event, HasDeviceAndLabel) {
    auto event = NS::TransferPtr(device->newEvent());
    EXPECT_EQ(event->device(), device.get());
    event->setLabel(MTLSTR("ready"));
    EXPECT_STREQ(event->label()->utf8String(), "ready");
}

TEST_F(SharedEvent, IsSignalledByWorkAndSeenByTheHost) {
    auto event = NS::TransferPtr(device->newSharedEvent());
    EXPECT_EQ(event->signaledValue(), 0u);
    EXPECT_FALSE(event->waitUntilSignaledValue(1, 1));
    auto* work = queue->commandBuffer();
    work->encodeSignalEvent(event.get(), 5);
    work->commit();
    EXPECT_TRUE(event->waitUntilSignaledValue(5, kLong));
    EXPECT_EQ(event->signaledValue(), 5u);
}

TEST_F(SharedEvent, HoldsWorkUntilTheHostSignals) {
    auto event = NS::TransferPtr(device->newSharedEvent());
    auto* work = queue->commandBuffer();
    work->encodeWait(event.get(), 3);
    work->encodeSignalEvent(event.get(), 4);
    work->commit();
    event->setSignaledValue(2);
    EXPECT_FALSE(event->waitUntilSignaledValue(4, 20));
    event->setSignaledValue(3);
    work->waitUntilCompleted();
    EXPECT_EQ(work->status(), MTL::CommandBufferStatusCompleted);
    EXPECT_EQ(event->signaledValue(), 4u);
}

TEST_F(SharedEvent, TellsListeners) {
    auto event = NS::TransferPtr(device->newSharedEvent());
    auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
    std::binary_semaphore told(0);
    std::atomic<uint64_t> value = 0;
    std::atomic<MTL::SharedEvent*> named = nullptr;
    const MTL::SharedEventNotificationFunction handler = [&](MTL::SharedEvent* which,
                                                             uint64_t reached) {
        named = which;
        value = reached;
        told.release();
    };
    event->notifyListener(listener.get(), 2, handler);
    event->setSignaledValue(1);
    EXPECT_FALSE(told.try_acquire_for(std::chrono::milliseconds(20)));
    event->setSignaledValue(2);
    ASSERT_TRUE(told.try_acquire_for(std::chrono::milliseconds(kLong)));
    EXPECT_EQ(value, 2u);
    EXPECT_EQ(named, event.get());

    event->notifyListener(listener.get(), 1, handler);  // reached already
    EXPECT_TRUE(told.try_acquire_for(std::chrono::milliseconds(kLong)));
}

TEST_F(SharedEvent, TellsListenersOfWhatWorkSignalled) {
    auto event = NS::TransferPtr(device->newSharedEvent());
    const dispatch_queue_t on = dispatch_queue_create("listener", DISPATCH_QUEUE_SERIAL);
    auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init(on));
    EXPECT_EQ(listener->dispatchQueue(), on);
    std::binary_semaphore told(0);
    std::binary_semaphore* signal = &told;
    event->notifyListener(listener.get(), 9, ^(MTL::SharedEvent*, uint64_t) {
      signal->release();
    });
    auto* work = queue->commandBuffer();
    work->encodeSignalEvent(event.get(), 9);
    work->commit();
    EXPECT_TRUE(told.try_acquire_for(std::chrono::milliseconds(kLong)));
    dispatch_release(on);
}

TEST_F(SharedEvent, TravelsByHandle) {
    auto event = NS::TransferPtr(device->newSharedEvent());
    event->setLabel(MTLSTR("travels"));
    auto handle = NS::TransferPtr(event->newSharedEventHandle());
    EXPECT_STREQ(handle->label()->utf8String(), "travels");
    auto other = NS::TransferPtr(device->newSharedEvent(handle.get()));
    event->setSignaledValue(6);
    EXPECT_EQ(other->signaledValue(), 6u);
}

TEST_F(SharedEvent, GoesWithANotificationPending) {
    auto listener = NS::TransferPtr(MTL::SharedEventListener::alloc()->init());
    auto event = NS::TransferPtr(device->newSharedEvent());
    event->notifyListener(
        listener.get(), 1,
        MTL::SharedEventNotificationFunction([](MTL::SharedEvent*, uint64_t) { FAIL(); }));
    event.reset();
}

TEST_F(Event, EncodingBesideAnOpenEncoderIsMisuse) {
    auto event = NS::TransferPtr(device->newEvent());
    auto* work = queue->commandBuffer();
    auto* blit = work->blitCommandEncoder();
    work->encodeSignalEvent(event.get(), 1);
    blit->endEncoding();
    work->commit();
    work->waitUntilCompleted();
    EXPECT_EQ(work->status(), MTL::CommandBufferStatusError);
    EXPECT_THAT(description(work->error()), testing::HasSubstr("encodeSignalEvent"));
}

TEST_F(Fence, OrdersEncodersOfAQueue) {
    auto fence = NS::TransferPtr(device->newFence());
    fence->setLabel(MTLSTR("fence"));
    EXPECT_STREQ(fence->label()->utf8String(), "fence");
    EXPECT_EQ(fence->device(), device.get());
    auto filled = buffer(16), copied = buffer(16);
    auto* work = queue->commandBuffer();
    auto* fill = work->blitCommandEncoder();
    fill->fillBuffer(filled.get(), NS::Range(0, 16), 3);
    fill->updateFence(fence.get());
    fill->endEncoding();
    auto* copy = work->blitCommandEncoder();
    copy->waitForFence(fence.get());
    copy->copyFromBuffer(filled.get(), 0, copied.get(), 0, 16);
    copy->endEncoding();
    work->commit();
    work->waitUntilCompleted();
    EXPECT_EQ(static_cast<const char*>(copied->contents())[15], 3);
}

}  // namespace
}  // namespace softmetal::test
