// What a checked kernel may reach without a binding: nothing that was not made resident. A real GPU
// would run these.
#include <gtest/gtest.h>

#include <cstring>

#include "softmetal/control.h"
#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Residency : public Metal {
  protected:
    std::string run_through_table(MTL::Buffer* target, MTL::ResidencySet* set) {
        struct {
            uint64_t address;
            uint32_t count;
        } const table = {target->gpuAddress(), 8};
        const auto kernel = pipeline(kKernels, "through_table");
        auto* work = queue->commandBuffer();
        if (set) work->useResidencySet(set);
        auto* encoder = work->computeCommandEncoder();
        encoder->setComputePipelineState(kernel.get());
        encoder->setBytes(&table, sizeof(table), 0);
        encoder->dispatchThreads(MTL::Size(8, 1, 1), MTL::Size(8, 1, 1));
        encoder->endEncoding();
        return run(work);
    }
};

TEST_F(Residency, IsNeededByACheckedKernel) {
    set_checks(device.get(), Checks::Bounds);
    auto target = buffer(kPage);
    target->setLabel(MTLSTR("hidden"));
    EXPECT_THAT(run_through_table(target.get(), nullptr), testing::HasSubstr("through_table"));
}

TEST_F(Residency, MissingIsReportedWithTheBufferThatLacksIt) {
    set_checks(device.get(), Checks::Bounds);
    auto target = buffer(kPage);
    target->setLabel(MTLSTR("hidden"));
    auto table = buffer(kPage);
    const uint64_t address = target->gpuAddress() + 64;
    std::memcpy(table->contents(), &address, sizeof address);
    const uint32_t count = 8;
    std::memcpy(static_cast<char*>(table->contents()) + 8, &count, sizeof count);
    const auto kernel = pipeline(kKernels, "through_table");
    auto* work = queue->commandBuffer();
    auto* encoder = work->computeCommandEncoder();
    encoder->setComputePipelineState(kernel.get());
    encoder->setBuffer(table.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
    encoder->endEncoding();
    EXPECT_THAT(run(work),
                testing::HasSubstr("at byte 64 of buffer 'hidden', which is not resident "
                                   "for this dispatch: useResource"));
}

TEST_F(Residency, NeedsACommit) {
    set_checks(device.get(), Checks::Bounds);
    auto target = buffer(kPage);
    auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
    auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), nullptr));
    set->addAllocation(target.get());
    EXPECT_NE(run_through_table(target.get(), set.get()), "");
    set->commit();
    EXPECT_EQ(run_through_table(target.get(), set.get()), "");
    set->removeAllAllocations();
    EXPECT_EQ(run_through_table(target.get(), set.get()), "");
    set->commit();
    EXPECT_NE(run_through_table(target.get(), set.get()), "");
}

}  // namespace
}  // namespace softmetal::test
