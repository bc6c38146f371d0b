#include <cstdlib>
#include <memory>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Buffer : public Metal {};

using Pages = std::unique_ptr<void, decltype(&std::free)>;
Pages pages(size_t count) { return {std::aligned_alloc(kPage, count * kPage), &std::free}; }

TEST_F(Buffer, IsFilledWithZeros) {
    const auto made = buffer(100000);
    const auto bytes = values<uint8_t>(made.get());
    EXPECT_EQ(bytes, std::vector<uint8_t>(100000, 0));
}

TEST_F(Buffer, IsFilledWithZerosAgainWhereAnotherWas) {
    for (int i = 0; i < 3; ++i) {
        const auto made = buffer(kPage);
        EXPECT_EQ(values<uint8_t>(made.get()), std::vector<uint8_t>(kPage, 0));
        std::memset(made->contents(), 0xab, kPage);
    }
}

TEST_F(Buffer, HasTheBytesItWasMadeWith) {
    const auto made = buffer<uint32_t>({1, 2, 3});
    EXPECT_EQ(made->length(), 12u);
    EXPECT_THAT(values<uint32_t>(made.get()), testing::ElementsAre(1, 2, 3));
}

TEST_F(Buffer, WithoutLengthIsNil) {
    EXPECT_EQ(device->newBuffer(0, MTL::ResourceStorageModeShared), nullptr);
}

TEST_F(Buffer, PastTheLongestLengthIsNil) {
    EXPECT_EQ(device->newBuffer(device->maxBufferLength() + 1, MTL::ResourceStorageModeShared),
              nullptr);
}

TEST_F(Buffer, KeepsItsLabel) {
    const auto made = buffer(16);
    made->setLabel(text("weights"));
    EXPECT_EQ(text(made->label()), "weights");
}

TEST_F(Buffer, TellsItsModes) {
    const auto made = NS::TransferPtr(device->newBuffer(
        16, MTL::ResourceStorageModeShared | MTL::ResourceCPUCacheModeWriteCombined |
                MTL::ResourceHazardTrackingModeUntracked));
    EXPECT_EQ(made->storageMode(), MTL::StorageModeShared);
    EXPECT_EQ(made->cpuCacheMode(), MTL::CPUCacheModeWriteCombined);
    EXPECT_EQ(made->hazardTrackingMode(), MTL::HazardTrackingModeUntracked);
    EXPECT_EQ(buffer(16)->hazardTrackingMode(), MTL::HazardTrackingModeTracked);
}

TEST_F(Buffer, OfPrivateStorageHasNoContents) {
    const auto made = NS::TransferPtr(device->newBuffer(16, MTL::ResourceStorageModePrivate));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->contents(), nullptr);
    EXPECT_NE(made->gpuAddress(), 0u);
}

TEST_F(Buffer, TakesWholePagesOfTheDevicesMemory) {
    const auto before = device->currentAllocatedSize();
    const auto made = buffer(10);
    EXPECT_GE(made->allocatedSize(), 10u);
    EXPECT_EQ(device->currentAllocatedSize(), before + made->allocatedSize());
}

TEST_F(Buffer, GivesItsMemoryBack) {
    const auto before = device->currentAllocatedSize();
    buffer(1 << 20).reset();
    EXPECT_EQ(device->currentAllocatedSize(), before);
}

TEST_F(Buffer, WithoutCopyIsTheProgramsMemory) {
    const auto memory = pages(1);
    std::memset(memory.get(), 0, kPage);
    {
        const auto made = NS::TransferPtr(
            device->newBuffer(memory.get(), kPage, MTL::ResourceStorageModeShared, nullptr));
        ASSERT_TRUE(made);
        EXPECT_EQ(made->contents(), memory.get());
        const auto increment = pipeline(kKernels, "increment");
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(increment.get());
        encoder->setBuffer(made.get(), 0, 0);
        encoder->dispatchThreads({4, 1, 1}, {4, 1, 1});
        encoder->endEncoding();
        EXPECT_EQ(run(commands), "");
    }
    const auto* words = static_cast<const uint32_t*>(memory.get());
    EXPECT_EQ(words[0], 1u);
    EXPECT_EQ(words[3], 1u);
    EXPECT_EQ(words[4], 0u);
}

TEST_F(Buffer, WithoutCopyCountsAsAllocated) {
    const auto memory = pages(2);
    const auto before = device->currentAllocatedSize();
    const auto made = NS::TransferPtr(
        device->newBuffer(memory.get(), 2 * kPage, MTL::ResourceStorageModeShared, nullptr));
    EXPECT_EQ(device->currentAllocatedSize(), before + 2 * kPage);
}

TEST_F(Buffer, WithoutCopyNeedsAPageToStartOn) {
    const auto memory = pages(2);
    auto* inside = static_cast<char*>(memory.get()) + 4096;
    EXPECT_EQ(device->newBuffer(inside, kPage, MTL::ResourceStorageModeShared, nullptr), nullptr);
}

TEST_F(Buffer, WithoutCopyNeedsWholePages) {
    const auto memory = pages(2);
    EXPECT_EQ(
        device->newBuffer(memory.get(), kPage + 4096, MTL::ResourceStorageModeShared, nullptr),
        nullptr);
    EXPECT_EQ(device->newBuffer(memory.get(), 0, MTL::ResourceStorageModeShared, nullptr), nullptr);
}

TEST_F(Buffer, WithoutCopyCannotBePrivate) {
    const auto memory = pages(1);
    EXPECT_EQ(device->newBuffer(memory.get(), kPage, MTL::ResourceStorageModePrivate, nullptr),
              nullptr);
}

TEST_F(Buffer, GivesTheProgramsMemoryBackOnce) {
    const auto memory = pages(1);
    __block int calls = 0;
    __block void* given = nullptr;
    __block NS::UInteger length = 0;
    auto made = NS::TransferPtr(device->newBuffer(
        memory.get(), kPage, MTL::ResourceStorageModeShared, ^(void* pointer, NS::UInteger bytes) {
          ++calls;
          given = pointer;
          length = bytes;
        }));
    ASSERT_TRUE(made);
    auto second = made;
    made.reset();
    EXPECT_EQ(calls, 0);
    second.reset();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(given, memory.get());
    EXPECT_EQ(length, kPage);
}

TEST_F(Buffer, IsKeptByWorkThatUsesIt) {
    const auto memory = pages(1);
    std::memset(memory.get(), 0, kPage);
    __block int calls = 0;
    auto made = NS::TransferPtr(device->newBuffer(
        memory.get(), kPage, MTL::ResourceStorageModeShared, ^(void*, NS::UInteger) {
          ++calls;
        }));
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(made.get(), NS::Range(0, kPage), 7);
    blit->endEncoding();
    made.reset();
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(run(commands), "");
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(static_cast<const uint8_t*>(memory.get())[kPage - 1], 7);
}

TEST_F(Buffer, OfManagedStorageIsUpdatedWhereTheHostSaysSo) {
    const auto managed = NS::TransferPtr(device->newBuffer(8, MTL::ResourceStorageModeManaged));
    const auto copy = buffer(8);
    auto* words = static_cast<uint32_t*>(managed->contents());
    words[0] = 5;
    words[1] = 6;
    managed->didModifyRange(NS::Range(0, 8));
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->copyFromBuffer(managed.get(), 0, copy.get(), 0, 8);
    blit->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint32_t>(copy.get()), testing::ElementsAre(5, 6));
}

TEST_F(Buffer, OfManagedStorageShowsWorkAfterSynchronization) {
    const auto managed = NS::TransferPtr(device->newBuffer(8, MTL::ResourceStorageModeManaged));
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->fillBuffer(managed.get(), NS::Range(0, 8), 1);
    blit->synchronizeResource(managed.get());
    blit->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint8_t>(managed.get()), testing::Each(1));
}

TEST_F(Buffer, TellsItsPurgeableState) {
    const auto made = buffer(16);
    EXPECT_EQ(made->setPurgeableState(MTL::PurgeableStateKeepCurrent),
              MTL::PurgeableStateNonVolatile);
    EXPECT_EQ(made->setPurgeableState(MTL::PurgeableStateVolatile), MTL::PurgeableStateNonVolatile);
    EXPECT_EQ(made->setPurgeableState(MTL::PurgeableStateNonVolatile), MTL::PurgeableStateVolatile);
}

TEST_F(Buffer, IsNotInAHeapByItself) {
    const auto made = buffer(16);
    EXPECT_EQ(made->heap(), nullptr);
    EXPECT_EQ(made->heapOffset(), 0u);
}

TEST_F(Buffer, CanBeOneOfThousands) {
    std::vector<NS::SharedPtr<MTL::Buffer>> all;
    for (uint32_t i = 0; i < 3000; ++i) {
        all.push_back(buffer(64));
        ASSERT_TRUE(all.back());
        *static_cast<uint32_t*>(all.back()->contents()) = i;
    }
    for (uint32_t i = 0; i < 3000; i += 2) all[i].reset();
    for (uint32_t i = 0; i < 3000; i += 2) all[i] = buffer(100000);
    for (uint32_t i = 0; i < 3000; ++i) {
        EXPECT_EQ(*static_cast<const uint32_t*>(all[i]->contents()), i % 2 ? i : 0);
    }
}

}  // namespace
}  // namespace softmetal::test
