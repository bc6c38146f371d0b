// Heaps and residency sets. What is tested here holds on a Mac too, apart from exact sizes.
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <cstring>
#include <vector>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Heap : public Metal {
  protected:
    NS::SharedPtr<MTL::Heap> heap(NS::UInteger size, MTL::HeapType type = MTL::HeapTypeAutomatic,
                                  MTL::StorageMode storage = MTL::StorageModeShared) {
        auto descriptor = NS::TransferPtr(MTL::HeapDescriptor::alloc()->init());
        descriptor->setSize(size);
        descriptor->setType(type);
        descriptor->setStorageMode(storage);
        return NS::TransferPtr(device->newHeap(descriptor.get()));
    }
};
using ResidencySet = Heap;

TEST_F(Heap, CountsOnceAndAsAWhole) {
    const auto before = device->currentAllocatedSize();
    auto whole = heap(10 * kPage);
    EXPECT_GE(whole->size(), 10 * kPage);
    EXPECT_EQ(device->currentAllocatedSize(), before + whole->currentAllocatedSize());
    auto part = NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModeShared));
    EXPECT_EQ(device->currentAllocatedSize(), before + whole->currentAllocatedSize());
    EXPECT_GE(whole->usedSize(), kPage);
    part.reset();
    EXPECT_EQ(whole->usedSize(), 0u);
    whole.reset();
    EXPECT_EQ(device->currentAllocatedSize(), before);
}

TEST_F(Heap, CutsBuffersThatDoNotOverlap) {
    auto whole = heap(8 * kPage);
    std::vector<NS::SharedPtr<MTL::Buffer>> parts;
    for (char i = 0; i < 8; ++i) {
        parts.push_back(NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModeShared)));
        ASSERT_TRUE(parts.back());
        EXPECT_EQ(parts.back()->heap(), whole.get());
        std::memset(parts.back()->contents(), i, kPage);
    }
    EXPECT_EQ(whole->newBuffer(kPage, MTL::ResourceStorageModeShared), nullptr);
    for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(static_cast<char*>(parts[i]->contents())[0], static_cast<char>(i));
        EXPECT_EQ(static_cast<char*>(parts[i]->contents())[kPage - 1], static_cast<char>(i));
    }
}

TEST_F(Heap, UsesGivenBackMemoryAgain) {
    auto whole = heap(4 * kPage);
    std::vector<NS::SharedPtr<MTL::Buffer>> parts;
    for (int i = 0; i < 4; ++i)
        parts.push_back(NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModeShared)));
    EXPECT_EQ(whole->maxAvailableSize(1), 0u);
    parts[1].reset();
    parts[2].reset();
    EXPECT_EQ(whole->maxAvailableSize(1), 2 * kPage);
    EXPECT_EQ(whole->usedSize(), 2 * kPage);
    auto both = NS::TransferPtr(whole->newBuffer(2 * kPage, MTL::ResourceStorageModeShared));
    EXPECT_TRUE(both);
    parts.clear();
    both.reset();
    EXPECT_EQ(whole->maxAvailableSize(kPage), 4 * kPage);
}

TEST_F(Heap, PlacesBuffersWhereToldEvenOverEachOther) {
    auto whole = heap(4 * kPage, MTL::HeapTypePlacement);
    auto low = NS::TransferPtr(whole->newBuffer(2 * kPage, MTL::ResourceStorageModeShared, 0));
    auto high = NS::TransferPtr(whole->newBuffer(2 * kPage, MTL::ResourceStorageModeShared, kPage));
    ASSERT_TRUE(low && high);
    EXPECT_EQ(high->heapOffset(), kPage);
    static_cast<char*>(low->contents())[kPage] = 42;
    EXPECT_EQ(static_cast<char*>(high->contents())[0], 42);
    EXPECT_EQ(high->gpuAddress() - low->gpuAddress(), kPage);
}

TEST_F(Heap, RefusesWhatItCannotHold) {
    EXPECT_FALSE(heap(0));
    auto automatic = heap(2 * kPage);
    EXPECT_EQ(automatic->newBuffer(3 * kPage, MTL::ResourceStorageModeShared), nullptr);
    auto placed = heap(2 * kPage, MTL::HeapTypePlacement);
    EXPECT_EQ(placed->newBuffer(2 * kPage, MTL::ResourceStorageModeShared, kPage), nullptr);
}

TEST_F(Heap, LetsAliasableMemoryBeUsedTwice) {
    auto whole = heap(kPage);
    auto first = NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModeShared));
    EXPECT_FALSE(first->isAliasable());
    EXPECT_EQ(whole->newBuffer(kPage, MTL::ResourceStorageModeShared), nullptr);
    first->makeAliasable();
    EXPECT_TRUE(first->isAliasable());
    auto second = NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModeShared));
    ASSERT_TRUE(second);
    EXPECT_EQ(first->gpuAddress(), second->gpuAddress());
}

TEST_F(Heap, BuffersOfItDoWork) {
    auto whole = heap(4 * kPage, MTL::HeapTypeAutomatic, MTL::StorageModePrivate);
    EXPECT_EQ(whole->storageMode(), MTL::StorageModePrivate);
    auto part = NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModePrivate));
    auto result = buffer(kPage);
    auto* work = queue->commandBuffer();
    auto* blit = work->blitCommandEncoder();
    blit->fillBuffer(part.get(), NS::Range(0, kPage), 9);
    blit->copyFromBuffer(part.get(), 0, result.get(), 0, kPage);
    blit->endEncoding();
    work->commit();
    part.reset();  // the command buffer keeps it, and it the heap
    whole.reset();
    work->waitUntilCompleted();
    EXPECT_EQ(work->status(), MTL::CommandBufferStatusCompleted);
    EXPECT_EQ(static_cast<char*>(result->contents())[kPage - 1], 9);
}

TEST_F(Heap, SaysWhatItIs) {
    auto descriptor = NS::TransferPtr(MTL::HeapDescriptor::alloc()->init());
    EXPECT_EQ(descriptor->storageMode(), MTL::StorageModePrivate);
    EXPECT_EQ(descriptor->type(), MTL::HeapTypeAutomatic);
    descriptor->setResourceOptions(MTL::ResourceStorageModeShared |
                                   MTL::ResourceHazardTrackingModeTracked);
    descriptor->setSize(kPage);
    auto copied = NS::TransferPtr(descriptor->copy());
    EXPECT_EQ(copied->storageMode(), MTL::StorageModeShared);
    EXPECT_EQ(copied->size(), kPage);
    auto whole = NS::TransferPtr(device->newHeap(copied.get()));
    whole->setLabel(MTLSTR("heap"));
    EXPECT_STREQ(whole->label()->utf8String(), "heap");
    EXPECT_EQ(whole->device(), device.get());
    EXPECT_EQ(whole->hazardTrackingMode(), MTL::HazardTrackingModeTracked);
    EXPECT_EQ(whole->setPurgeableState(MTL::PurgeableStateKeepCurrent),
              MTL::PurgeableStateNonVolatile);
}

TEST_F(ResidencySet, ListsAllocations) {
    auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
    descriptor->setLabel(MTLSTR("weights"));
    descriptor->setInitialCapacity(4);
    NS::Error* error = nullptr;
    auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), &error));
    ASSERT_TRUE(set);
    EXPECT_STREQ(set->label()->utf8String(), "weights");
    auto single = buffer(kPage);
    auto whole = heap(2 * kPage);
    set->addAllocation(single.get());
    set->addAllocation(single.get());
    const MTL::Allocation* more[] = {whole.get()};
    set->addAllocations(more, 1);
    EXPECT_EQ(set->allocationCount(), 2u);
    EXPECT_TRUE(set->containsAllocation(whole.get()));
    EXPECT_EQ(set->allAllocations()->count(), 2u);
    set->commit();
    set->requestResidency();
    EXPECT_EQ(set->allocatedSize(), 3 * kPage);
    set->removeAllocation(single.get());
    EXPECT_FALSE(set->containsAllocation(single.get()));
    set->removeAllAllocations();
    set->commit();
    EXPECT_EQ(set->allocatedSize(), 0u);
    set->endResidency();
}

// What kTable stands for in a kernel: an address, and how many numbers lie there.
struct TableArgument {
    uint64_t address;
    uint32_t count;
};

class ReachedByAddress : public Heap {
  protected:
    // Runs `through_table` over `target`, which only its address leads to; `prepare` makes it
    // resident.
    template <class Prepare>
    std::string run_through_table(MTL::Buffer* target, Prepare prepare) {
        const auto kernel = pipeline(kKernels, "through_table");
        const TableArgument table = {target->gpuAddress(), 8};
        auto* work = queue->commandBuffer();
        auto* encoder = work->computeCommandEncoder();
        encoder->setComputePipelineState(kernel.get());
        encoder->setBytes(&table, sizeof(table), 0);
        prepare(work, encoder);
        encoder->dispatchThreads(MTL::Size(8, 1, 1), MTL::Size(8, 1, 1));
        encoder->endEncoding();
        return run(work);
    }
    NS::SharedPtr<MTL::ResidencySet> set_of(const MTL::Allocation* allocation) {
        auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
        auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), nullptr));
        set->addAllocation(allocation);
        set->commit();
        return set;
    }
    static void expect_squares(MTL::Buffer* target) {
        const auto* numbers = static_cast<const uint32_t*>(target->contents());
        for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(numbers[i], i * i);
    }
};

TEST_F(ReachedByAddress, ThroughASetOfTheQueue) {
    auto target = buffer(kPage);
    auto set = set_of(target.get());
    queue->addResidencySet(set.get());
    EXPECT_EQ(run_through_table(target.get(), [](auto*, auto*) {}), "");
    expect_squares(target.get());
    queue->removeResidencySet(set.get());
}

TEST_F(ReachedByAddress, ThroughASetOfTheCommandBuffer) {
    auto target = buffer(kPage);
    auto set = set_of(target.get());
    EXPECT_EQ(run_through_table(target.get(),
                                [&](auto* work, auto*) { work->useResidencySet(set.get()); }),
              "");
    expect_squares(target.get());
}

TEST_F(ReachedByAddress, ThroughASetThatIsCommittedBeforeTheWork) {
    auto target = buffer(kPage), other = buffer(kPage);
    auto set = set_of(other.get());
    queue->addResidencySet(set.get());
    EXPECT_EQ(run_through_table(target.get(),
                                [&](auto*, auto*) {
                                    set->addAllocation(target.get());
                                    set->commit();
                                }),
              "");
    expect_squares(target.get());
    queue->removeResidencySet(set.get());
}

TEST_F(ReachedByAddress, ThroughUseHeap) {
    auto whole = heap(4 * kPage);
    auto target = NS::TransferPtr(whole->newBuffer(kPage, MTL::ResourceStorageModeShared));
    EXPECT_EQ(run_through_table(target.get(),
                                [&](auto*, auto* encoder) { encoder->useHeap(whole.get()); }),
              "");
    expect_squares(target.get());
}

}  // namespace
}  // namespace softmetal::test
