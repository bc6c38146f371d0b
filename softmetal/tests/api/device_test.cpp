#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Device : public Metal {};

TEST_F(Device, IsOneObjectAsLongAsItLives) {
    const auto again = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    EXPECT_EQ(again.get(), device.get());
}

TEST_F(Device, StandsInTheListOfAllDevices) {
    const auto all = NS::TransferPtr(MTL::CopyAllDevices());
    ASSERT_GE(all->count(), 1u);
    bool found = false;
    for (NS::UInteger i = 0; i < all->count(); ++i) found |= all->object(i) == device.get();
    EXPECT_TRUE(found);
}

TEST_F(Device, IsListedForAnObserverToo) {
    NS::Object* observer = nullptr;
    const auto all = NS::TransferPtr(MTL::CopyAllDevicesWithObserver(
        &observer, MTL::DeviceNotificationHandlerFunction([](MTL::Device*, NS::String*) {})));
    ASSERT_GE(all->count(), 1u);
    ASSERT_NE(observer, nullptr);
    MTL::RemoveDeviceObserver(observer);
    observer->release();
}

TEST_F(Device, HasAName) { EXPECT_NE(text(device->name()), ""); }

TEST_F(Device, KnowsMetalsNames) {
    for (const NS::String* name :
         {MTL::BinaryArchiveDomain, MTL::IOErrorDomain, MTL::TensorDomain, MTL::CounterErrorDomain,
          MTL::LogStateErrorDomain, MTL::CommandBufferEncoderInfoErrorKey,
          MTL::DeviceWasAddedNotification, MTL::DeviceRemovalRequestedNotification,
          MTL::DeviceWasRemovedNotification, MTL::CommonCounterTimestamp,
          MTL::CommonCounterComputeKernelInvocations, MTL::CommonCounterSetStatistic}) {
        ASSERT_NE(name, nullptr);
        EXPECT_NE(text(name), "");
    }
}

TEST_F(Device, NamesItsArchitecture) {
    EXPECT_THAT(text(device->architecture()->name()), testing::ContainsRegex("_g[0-9]+[a-z]$"));
}

TEST_F(Device, HasARegistryIdentifier) { EXPECT_NE(device->registryID(), 0u); }

TEST_F(Device, SupportsAllFamiliesBelowItsOwn) {
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyApple7));
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyApple1));
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyMetal3));
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyCommon3));
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyMac2));
}

TEST_F(Device, HasTheLimitsOfAnAppleGpu) {
    EXPECT_TRUE(device->hasUnifiedMemory());
    EXPECT_FALSE(device->isLowPower());
    EXPECT_FALSE(device->isRemovable());
    EXPECT_EQ(device->maxThreadsPerThreadgroup().width, 1024u);
    EXPECT_EQ(device->maxThreadgroupMemoryLength(), 32768u);
    EXPECT_GT(device->maxBufferLength(), 0u);
    EXPECT_GT(device->recommendedMaxWorkingSetSize(), 0u);
}

TEST_F(Device, TellsWhatABufferTakesInAHeap) {
    const auto small = device->heapBufferSizeAndAlign(1, MTL::ResourceStorageModeShared);
    EXPECT_GE(small.size, 1u);
    EXPECT_EQ(small.size % small.align, 0u);
}

TEST_F(Device, SamplesBothClocksTogether) {
    MTL::Timestamp cpu[2] = {}, gpu[2] = {};
    device->sampleTimestamps(&cpu[0], &gpu[0]);
    device->sampleTimestamps(&cpu[1], &gpu[1]);
    EXPECT_GE(cpu[1], cpu[0]);
    EXPECT_GE(gpu[1], gpu[0]);
}

TEST_F(Device, LivesAsLongAsABufferOfIt) {
    const auto kept = buffer(64);
    queue.reset();
    auto* raw = device.get();
    device.reset();
    EXPECT_EQ(kept->device(), raw);
    EXPECT_NE(text(kept->device()->name()), "");
}

}  // namespace
}  // namespace softmetal::test
