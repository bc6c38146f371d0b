// The host keeps its hands off memory that work in flight uses, or hears of it. What is in flight
// is made certain by an enqueued command buffer in front that is not committed yet.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "softmetal/control.h"
#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

using testing::HasSubstr;

class InFlight : public Metal {
  protected:
    void SetUp() override {
        Metal::SetUp();
        set_checks(device.get(), Checks::Bounds);
        add_ = pipeline(kKernels, "add");
        in = buffer(3 * kPage);
        in->setLabel(text("in"));
        out = buffer(3 * kPage);
        out->setLabel(text("out"));
    }
    void TearDown() override {
        add_.reset();
        in.reset();
        out.reset();
        Metal::TearDown();
    }

    // Work that reads `in` and writes `out`, committed and held.
    MTL::CommandBuffer* work(NS::UInteger in_offset = 0, NS::UInteger out_offset = 0) {
        blocker_ = queue->commandBuffer();
        blocker_->enqueue();
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(add_.get());
        encoder->setBuffer(in.get(), in_offset, 0);
        encoder->setBuffer(in.get(), in_offset, 1);
        encoder->setBuffer(out.get(), out_offset, 2);
        encoder->dispatchThreads({4, 1, 1}, {4, 1, 1});
        encoder->endEncoding();
        commands->commit();
        return commands;
    }
    std::string finish(MTL::CommandBuffer* commands) {
        blocker_->commit();
        commands->waitUntilCompleted();
        return commands->error() ? description(commands->error()) : "";
    }
    static float& word(const NS::SharedPtr<MTL::Buffer>& of, size_t index = 0) {
        return static_cast<float*>(of->contents())[index];
    }

    NS::SharedPtr<MTL::Buffer> in, out;

  private:
    NS::SharedPtr<MTL::ComputePipelineState> add_;
    MTL::CommandBuffer* blocker_ = nullptr;
};

TEST_F(InFlight, WorkIsUndisturbedByOtherMemory) {
    const auto other = buffer(64);
    auto* commands = work();
    word(other) = 1;
    EXPECT_EQ(word(other), 1);
    EXPECT_EQ(finish(commands), "");
}

TEST_F(InFlight, HostMayReadWhatWorkReads) {
    word(in, 1) = 4;
    auto* commands = work();
    EXPECT_EQ(word(in, 1), 4);
    EXPECT_EQ(finish(commands), "");
    EXPECT_EQ(word(out, 1), 8);
}

TEST_F(InFlight, HostWriteToWhatWorkReadsIsAnError) {
    auto* commands = work();
    word(in, 2) = 5;  // goes on
    EXPECT_EQ(
        finish(commands),
        "the host wrote byte 8 of buffer 'in' while kernel 'add', which reads it as buffer(0) 'a', "
        "was in flight");
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
    EXPECT_EQ(word(in, 2), 5);
    EXPECT_EQ(word(out, 2), 10);
}

TEST_F(InFlight, HostReadOfWhatWorkWritesIsAnError) {
    auto* commands = work();
    volatile const float read = word(out, 3);
    EXPECT_EQ(read, 0);
    EXPECT_EQ(
        finish(commands),
        "the host read byte 12 of buffer 'out' while kernel 'add', which writes it as buffer(2) "
        "'out', was in flight");
}

TEST_F(InFlight, HostWriteToWhatWorkWritesIsAnError) {
    auto* commands = work();
    word(out, 3000) = 1;
    EXPECT_THAT(finish(commands), HasSubstr("the host wrote byte 12000 of buffer 'out'"));
}

TEST_F(InFlight, OnlyTheFirstAccessIsTold) {
    auto* commands = work();
    word(out, 0) = 1;
    word(in, 0) = 1;
    word(out, 5000) = 1;
    EXPECT_THAT(finish(commands), HasSubstr("the host wrote byte 0 of buffer 'out'"));
}

TEST_F(InFlight, BytesBeforeTheOffsetAreFree) {
    auto* commands = work(/*in_offset=*/64, /*out_offset=*/kPage + 8);
    word(in, 1) = 1;   // on a page that is in use
    word(out, 1) = 2;  // on one that is not
    EXPECT_EQ(finish(commands), "");
    EXPECT_EQ(word(in, 1), 1);
}

TEST_F(InFlight, MemoryIsOpenAgainAfterwards) {
    auto* commands = work();
    EXPECT_EQ(finish(commands), "");
    word(in) = 1;
    word(out) = 2;
    EXPECT_EQ(word(in) + word(out), 3);
    EXPECT_EQ(commands->error(), nullptr);
}

TEST_F(InFlight, MemoryStaysClosedUntilTheLastUserIsDone) {
    auto* commands = work();
    // Another queue reads `in` meanwhile, and is done.
    const auto other = NS::TransferPtr(device->newCommandQueue());
    const auto copy = buffer(64);
    auto* second = other->commandBuffer();
    auto* blit = second->blitCommandEncoder();
    blit->copyFromBuffer(in.get(), 0, copy.get(), 0, 64);
    blit->endEncoding();
    EXPECT_EQ(run(second), "");
    word(in) = 1;
    EXPECT_THAT(finish(commands), HasSubstr("the host wrote byte 0 of buffer 'in'"));
}

TEST_F(InFlight, TheProgramsOwnMemoryIsNotWatched) {
    const auto memory =
        std::unique_ptr<void, decltype(&std::free)>(std::aligned_alloc(kPage, kPage), &std::free);
    std::memset(memory.get(), 0, kPage);
    in = NS::TransferPtr(
        device->newBuffer(memory.get(), kPage, MTL::ResourceStorageModeShared, nullptr));
    auto* commands = work();
    word(in) = 1;
    EXPECT_EQ(finish(commands), "");
}

TEST_F(InFlight, NothingIsWatchedWithoutChecks) {
    set_checks(device.get(), Checks::Off);
    auto* commands = work();
    word(in) = 1;
    word(out) = 1;
    EXPECT_EQ(finish(commands), "");
}

TEST_F(InFlight, ManagedMemoryIsNotTouchedByTheHostAlone) {
    in = NS::TransferPtr(device->newBuffer(kPage, MTL::ResourceStorageModeManaged));
    in->setLabel(text("managed"));
    auto* commands = work();
    word(in) = 1;  // the host's copy
    EXPECT_EQ(finish(commands), "");
    commands = work();
    in->didModifyRange(NS::Range(4, 8));  // the device's
    EXPECT_THAT(finish(commands), HasSubstr("the host wrote byte 4 of buffer 'managed'"));
}

TEST_F(InFlight, SynchronizationWritesTheHostsCopy) {
    const auto managed = NS::TransferPtr(device->newBuffer(kPage, MTL::ResourceStorageModeManaged));
    auto* blocker = queue->commandBuffer();
    blocker->enqueue();
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->synchronizeResource(managed.get());
    blit->endEncoding();
    commands->commit();
    volatile const float read = word(managed, 1);
    EXPECT_EQ(read, 0);
    blocker->commit();
    commands->waitUntilCompleted();
    EXPECT_THAT(description(commands->error()), HasSubstr("synchronizeResource"));
}

TEST_F(InFlight, BuffersReachedThroughAddressesAreWatched) {
    auto* blocker = queue->commandBuffer();
    blocker->enqueue();
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->useResource(in.get(), MTL::ResourceUsageRead);
    encoder->endEncoding();
    commands->commit();
    word(in) = 1;
    blocker->commit();
    commands->waitUntilCompleted();
    EXPECT_THAT(description(commands->error()), HasSubstr("useResource"));
}

// A fault that is none of ours belongs to whoever had the signal before.
TEST(InFlightDeathTest, ForeignFaultsGoToTheEarlierHandler) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            struct sigaction action = {};
            action.sa_handler = [](int) { _exit(7); };
            sigaction(SIGSEGV, &action, nullptr);
            const auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
            const auto buffer =
                NS::TransferPtr(device->newBuffer(64, MTL::ResourceStorageModeShared));
            // The gap behind the buffer.
            static_cast<volatile char*>(buffer->contents())[kPage] = 1;
        },
        testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace softmetal::test
