// Wrong use of the API ends the command buffer in an error that says what was found and what is
// allowed; the program goes on. On a Mac these calls would stop the process (with Metal's API
// validation) or do something undefined (without).
#include <future>

#include "softmetal/control.h"
#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Misuse : public Metal {
  protected:
    void SetUp() override {
        Metal::SetUp();
        set_checks(device.get(), Checks::All);
        words = buffer(64);
        words->setLabel(text("words"));
    }
    void TearDown() override {
        words.reset();
        loaded_.reset();
        Metal::TearDown();
    }

    NS::SharedPtr<MTL::ComputePipelineState> kernel(const char* name) {
        if (!loaded_) loaded_ = library(kKernels);
        const auto function = NS::TransferPtr(loaded_->newFunction(text(name)));
        return NS::TransferPtr(
            device->newComputePipelineState(function.get(), static_cast<NS::Error**>(nullptr)));
    }
    // What becomes of a command buffer with one encoder that `encode` fills.
    template <class Encode>
    std::string compute(const char* name, Encode encode) {
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setLabel(text("pass"));
        if (name) encoder->setComputePipelineState(kernel(name).get());
        encode(encoder);
        encoder->endEncoding();
        return run(commands);
    }
    template <class Encode>
    std::string blit(Encode encode) {
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->blitCommandEncoder();
        encode(encoder);
        encoder->endEncoding();
        return run(commands);
    }
    static void dispatch_one(MTL::ComputeCommandEncoder* encoder) {
        encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
    }

    NS::SharedPtr<MTL::Buffer> words;

  private:
    NS::SharedPtr<MTL::Library> loaded_;
};

TEST_F(Misuse, IsAnErrorOfTheCommandBuffersDomain) {
    auto* commands = queue->commandBuffer();
    commands->setLabel(text("frame 7"));
    auto* encoder = commands->computeCommandEncoder();
    dispatch_one(encoder);
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
    ASSERT_NE(commands->error(), nullptr);
    EXPECT_EQ(text(commands->error()->domain()), "MTLCommandBufferErrorDomain");
    EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorInvalidResource);
    EXPECT_THAT(description(commands->error()),
                HasSubstr("command buffer 'frame 7': compute encoder"));
}

TEST_F(Misuse, LeavesTheQueueInOrder) {
    EXPECT_NE(compute(nullptr, dispatch_one), "");
    EXPECT_EQ(compute("increment",
                      [&](auto* encoder) {
                          encoder->setBuffer(words.get(), 0, 0);
                          dispatch_one(encoder);
                      }),
              "");
}

TEST_F(Misuse, RunsNothingOfTheCommandBuffer) {
    EXPECT_NE(compute("increment",
                      [&](auto* encoder) {
                          encoder->setBuffer(words.get(), 0, 0);
                          dispatch_one(encoder);
                          encoder->setBuffer(words.get(), 65, 0);
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(words.get()), testing::Each(0));
}

TEST_F(Misuse, DispatchWithoutAPipeline) {
    EXPECT_EQ(compute(nullptr, dispatch_one),
              "compute encoder 'pass': dispatchThreads: no pipeline is set");
}

TEST_F(Misuse, PipelineThatIsNil) {
    EXPECT_THAT(compute(nullptr, [](auto* encoder) { encoder->setComputePipelineState(nullptr); }),
                HasSubstr("setComputePipelineState: the pipeline is nil"));
}

TEST_F(Misuse, ArgumentWithoutABuffer) {
    EXPECT_EQ(
        compute("fill",
                [&](auto* encoder) {
                    encoder->setBuffer(words.get(), 0, 0);
                    dispatch_one(encoder);
                }),
        "compute encoder 'pass': dispatchThreads: kernel 'fill': nothing is bound to buffer(1) "
        "'value'");
}

TEST_F(Misuse, ArgumentWhoseBufferWasTakenAway) {
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->setBuffer(nullptr, 0, 0);
                            dispatch_one(encoder);
                        }),
                HasSubstr("nothing is bound to buffer(0) 'out'"));
}

TEST_F(Misuse, BufferSmallerThanTheStructItHolds) {
    EXPECT_THAT(compute("scale",
                        [&](auto* encoder) {
                            const uint32_t rows = 1;
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->setBytes(&rows, sizeof rows, 1);
                            dispatch_one(encoder);
                        }),
                AllOf(HasSubstr("kernel 'scale': buffer(1) 'shape' holds 4 bytes from offset 0 on"),
                      HasSubstr("Shape"), HasSubstr("has 12")));
}

TEST_F(Misuse, BufferWithTooLittleBehindItsOffset) {
    EXPECT_THAT(compute("scale",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->setBuffer(words.get(), 56, 1);
                            dispatch_one(encoder);
                        }),
                HasSubstr("buffer(1) 'shape' holds 8 bytes from offset 56 on"));
}

TEST_F(Misuse, OffsetPastTheEnd) {
    EXPECT_THAT(
        compute("increment", [&](auto* encoder) { encoder->setBuffer(words.get(), 68, 0); }),
        HasSubstr("setBuffer: offset 68 at index 0 is past the end of buffer 'words', which has "
                  "64 bytes"));
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->setBufferOffset(100, 0);
                        }),
                HasSubstr("setBufferOffset: offset 100 at index 0 is past the end of 64 bytes"));
}

TEST_F(Misuse, OffsetPastTheEndOfABufferWithoutALabel) {
    const auto unnamed = buffer(64);
    EXPECT_EQ(
        compute("increment", [&](auto* encoder) { encoder->setBuffer(unnamed.get(), 68, 0); }),
        "compute encoder 'pass': setBuffer: offset 68 at index 0 is past the end of the "
        "buffer of 64 bytes");
}

TEST_F(Misuse, OffsetBetweenElements) {
    EXPECT_THAT(
        compute("increment",
                [&](auto* encoder) {
                    encoder->setBuffer(words.get(), 2, 0);
                    dispatch_one(encoder);
                }),
        HasSubstr("kernel 'increment': offset 2 of buffer(0) 'out' is not a multiple of 4"));
}

TEST_F(Misuse, OffsetWithoutABuffer) {
    EXPECT_THAT(compute("increment", [](auto* encoder) { encoder->setBufferOffset(4, 3); }),
                HasSubstr("setBufferOffset: nothing is bound at index 3"));
}

TEST_F(Misuse, IndexPastTheTable) {
    EXPECT_THAT(
        compute("increment", [&](auto* encoder) { encoder->setBuffer(words.get(), 0, 31); }),
        HasSubstr("setBuffer: index 31 is past the last one, 30"));
    EXPECT_THAT(
        compute("increment", [](auto* encoder) { encoder->setThreadgroupMemoryLength(16, 31); }),
        HasSubstr("setThreadgroupMemoryLength: index 31 is past the last one, 30"));
}

TEST_F(Misuse, TooManySetBytes) {
    const std::vector<char> bytes(5000);
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) { encoder->setBytes(bytes.data(), bytes.size(), 2); }),
                HasSubstr("setBytes: 5000 bytes at index 2, and at most 4096 are allowed"));
}

TEST_F(Misuse, SetBytesWithoutBytes) {
    EXPECT_THAT(compute("increment", [](auto* encoder) { encoder->setBytes(nullptr, 4, 2); }),
                HasSubstr("setBytes: no bytes for index 2"));
}

TEST_F(Misuse, MoreThreadsThanTheDeviceAllows) {
    EXPECT_THAT(
        compute("increment",
                [&](auto* encoder) {
                    encoder->setBuffer(words.get(), 0, 0);
                    encoder->dispatchThreadgroups({1, 1, 1}, {32, 33, 1});
                }),
        HasSubstr("kernel 'increment': 32x33x1 threads per threadgroup are 1056, and the device "
                  "allows 1024"));
}

TEST_F(Misuse, MoreThreadsThanCanBeCounted) {
    for (const auto& [threads, named] :
         {std::pair(MTL::Size(NS::UInteger{1} << 40, 1, 1), "1099511627776x1x1"),
          std::pair(MTL::Size(1u << 31, 1u << 31, 1u << 31), "2147483648x2147483648x2147483648")}) {
        const auto why = compute("increment", [&](auto* encoder) {
            encoder->setBuffer(words.get(), 0, 0);
            encoder->dispatchThreads({1, 1, 1}, threads);
        });
        EXPECT_THAT(why, HasSubstr(std::string("kernel 'increment': ") + named +
                                   " threads per threadgroup, and the device allows 1024"));
        EXPECT_THAT(why, testing::Not(HasSubstr("18446744073709551615")));
    }
}

TEST_F(Misuse, MoreThreadsThanThePipelineAllows) {
    const auto limited = pipeline(R"(
        [[max_total_threads_per_threadgroup(64)]]
        kernel void limited(device uint* out [[buffer(0)]]) { out[0] = 1; })",
                                  "limited");
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(limited.get());
    encoder->setBuffer(words.get(), 0, 0);
    encoder->dispatchThreadgroups({1, 1, 1}, {65, 1, 1});
    encoder->endEncoding();
    EXPECT_THAT(run(commands),
                HasSubstr("65x1x1 threads per threadgroup are 65, and the pipeline's "
                          "maxTotalThreadsPerThreadgroup is 64"));
}

TEST_F(Misuse, ThreadgroupThatIsNoWholeSimdGroupsAgainstThePromise) {
    const auto function = NS::TransferPtr(library(kKernels)->newFunction(text("increment")));
    const auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    descriptor->setComputeFunction(function.get());
    descriptor->setThreadGroupSizeIsMultipleOfThreadExecutionWidth(true);
    const auto promising = NS::TransferPtr(device->newComputePipelineState(
        descriptor.get(), MTL::PipelineOptionNone, nullptr, nullptr));
    EXPECT_THAT(compute(nullptr,
                        [&](auto* encoder) {
                            encoder->setComputePipelineState(promising.get());
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreadgroups({1, 1, 1}, {8, 2, 1});
                        }),
                HasSubstr("8x2x1 threads per threadgroup are 16, and the pipeline was made with "
                          "threadGroupSizeIsMultipleOfThreadExecutionWidth; the width is 32"));
}

TEST_F(Misuse, ThingsOfAnotherDevice) {
    set_default_profile({.name = "other"});
    const auto other = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    set_default_profile({});
    ASSERT_NE(other.get(), device.get());
    const auto theirs = NS::TransferPtr(other->newBuffer(64, MTL::ResourceStorageModeShared));
    EXPECT_THAT(
        compute("increment", [&](auto* encoder) { encoder->setBuffer(theirs.get(), 0, 0); }),
        HasSubstr("setBuffer: the argument belongs to another device"));
    EXPECT_THAT(
        blit([&](auto* encoder) { encoder->copyFromBuffer(words.get(), 0, theirs.get(), 0, 4); }),
        HasSubstr("copyFromBuffer: the argument belongs to another device"));
}

TEST_F(Misuse, EmptyThreadgroup) {
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreadgroups({1, 1, 1}, {1, 0, 1});
                        }),
                HasSubstr("threadsPerThreadgroup is 1x0x1, and none of its parts may be 0"));
}

TEST_F(Misuse, EmptyGrid) {
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreadgroups({4, 0, 1}, {1, 1, 1});
                        }),
                HasSubstr("kernel 'increment': the grid is 4x0x1 threadgroups, and none"));
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreads({0, 1, 1}, {1, 1, 1});
                        }),
                HasSubstr("the grid is 0x1x1 threads, and none"));
}

TEST_F(Misuse, GridPastThirtyTwoBits) {
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreadgroups({1, NS::UInteger{1} << 31, 1}, {1, 4, 1});
                        }),
                HasSubstr("the grid has 2147483648 x 4 threads along y, and at most 4294967295"));
}

TEST_F(Misuse, ThreadgroupMemoryThatIsNoMultipleOfSixteen) {
    EXPECT_THAT(
        compute("sum_groups", [](auto* encoder) { encoder->setThreadgroupMemoryLength(20, 0); }),
        HasSubstr("setThreadgroupMemoryLength: 20 bytes at index 0 are not a multiple of 16"));
}

TEST_F(Misuse, ThreadgroupMemoryThatWasNotSet) {
    EXPECT_THAT(compute("sum_groups",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->setBuffer(words.get(), 0, 1);
                            dispatch_one(encoder);
                        }),
                HasSubstr("kernel 'sum_groups': threadgroup(0) 'shared' has no memory"));
}

TEST_F(Misuse, MoreThreadgroupMemoryThanTheDeviceHas) {
    EXPECT_THAT(
        compute("sum_groups",
                [&](auto* encoder) {
                    encoder->setBuffer(words.get(), 0, 0);
                    encoder->setBuffer(words.get(), 0, 1);
                    encoder->setThreadgroupMemoryLength(32768 + 16, 0);
                    dispatch_one(encoder);
                }),
        HasSubstr("kernel 'sum_groups': 32784 bytes of threadgroup memory (0 in the kernel, "
                  "32784 from setThreadgroupMemoryLength), and the device allows 32768"));
}

TEST_F(Misuse, IndirectGridOutsideItsBuffer) {
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreadgroups(words.get(), 56, {1, 1, 1});
                        }),
                HasSubstr("12 bytes at offset 56 are needed"));
}

TEST_F(Misuse, EncoderLeftOpenAtCommit) {
    auto* commands = queue->commandBuffer();
    commands->computeCommandEncoder()->setLabel(text("forgotten"));
    EXPECT_EQ(run(commands),
              "commit while compute encoder 'forgotten' is open; call its endEncoding first");
}

TEST_F(Misuse, EncoderReleasedWithoutEnd) {
    auto* commands = queue->commandBuffer();
    {
        const auto inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        commands->blitCommandEncoder();
    }
    EXPECT_EQ(run(commands), "blit encoder: released without endEncoding");
}

TEST_F(Misuse, TwoEncodersAtATime) {
    auto* commands = queue->commandBuffer();
    auto* first = commands->computeCommandEncoder();
    EXPECT_EQ(commands->blitCommandEncoder(), nullptr);
    first->endEncoding();
    EXPECT_EQ(run(commands),
              "blitCommandEncoder while compute encoder is open; call its endEncoding first");
}

TEST_F(Misuse, EncodingAfterTheEnd) {
    EXPECT_EQ(compute("increment",
                      [&](auto* encoder) {
                          encoder->endEncoding();
                          encoder->setBuffer(words.get(), 0, 0);
                      }),
              "compute encoder 'pass': setBuffer after endEncoding\n"
              "compute encoder 'pass': endEncoding after endEncoding");
}

TEST_F(Misuse, EncodingAfterCommit) {
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_EQ(commands->computeCommandEncoder(), nullptr);
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
    EXPECT_EQ(description(commands->error()), "computeCommandEncoder after commit");

    auto* other = queue->commandBuffer();
    encoder = other->computeCommandEncoder();
    encoder->endEncoding();
    EXPECT_EQ(run(other), "");
    dispatch_one(encoder);
    EXPECT_EQ(description(other->error()), "compute encoder: dispatchThreads after commit");
}

TEST_F(Misuse, CommittingTwice) {
    auto* commands = queue->commandBuffer();
    EXPECT_EQ(run(commands), "");
    EXPECT_EQ(run(commands), "commit was called twice");
}

TEST_F(Misuse, WaitingForWhatWasNotCommitted) {
    for (const auto checks : {Checks::All, Checks::Off}) {
        set_checks(device.get(), checks);
        auto* commands = queue->commandBuffer();
        int handled = 0;
        commands->addScheduledHandler(
            MTL::HandlerFunction([&](MTL::CommandBuffer*) { ++handled; }));
        commands->addCompletedHandler(
            MTL::HandlerFunction([&](MTL::CommandBuffer*) { ++handled; }));
        commands->waitUntilCompleted();
        EXPECT_EQ(handled, 2);
        EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
        EXPECT_EQ(description(commands->error()),
                  "waitUntilCompleted on a command buffer that was not committed");

        auto* other = queue->commandBuffer();
        other->waitUntilScheduled();
        EXPECT_EQ(other->status(), MTL::CommandBufferStatusError);
        EXPECT_EQ(description(other->error()),
                  "waitUntilScheduled on a command buffer that was not committed");
    }
}

TEST_F(Misuse, WaitingForWhatWasOnlyEnqueuedHoldsUpNothing) {
    const auto event = NS::TransferPtr(device->newSharedEvent());
    auto* waited_for = queue->commandBuffer();
    waited_for->encodeSignalEvent(event.get(), 1);
    waited_for->enqueue();
    auto* next = queue->commandBuffer();
    next->commit();
    waited_for->waitUntilCompleted();
    next->waitUntilCompleted();
    EXPECT_EQ(next->status(), MTL::CommandBufferStatusCompleted);
    // Too late to run, but whoever waits for its events goes on.
    waited_for->commit();
    EXPECT_EQ(event->signaledValue(), 1u);
    EXPECT_EQ(description(waited_for->error()),
              "waitUntilCompleted on a command buffer that was not committed");
    // Its place in the queue is free: more than a queue holds at a time.
    for (int i = 0; i < 100; ++i) queue->commandBuffer()->waitUntilCompleted();
}

TEST_F(Misuse, HandlerAfterCommitIsCalledAllTheSame) {
    auto* commands = queue->commandBuffer();
    EXPECT_EQ(run(commands), "");
    std::promise<void> called;
    commands->addCompletedHandler(
        MTL::HandlerFunction([&](MTL::CommandBuffer*) { called.set_value(); }));
    EXPECT_EQ(called.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    EXPECT_EQ(description(commands->error()), "addCompletedHandler after commit");
}

TEST_F(Misuse, BufferReleasedBeforeUnretainedWorkRuns) {
    const auto increment = kernel("increment");
    auto* commands = queue->commandBufferWithUnretainedReferences();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(increment.get());
    encoder->setBuffer(words.get(), 0, 0);
    dispatch_one(encoder);
    encoder->endEncoding();
    words.reset();
    EXPECT_EQ(
        run(commands),
        "kernel 'increment': buffer 'words', bound to buffer(0) 'out', was released before the "
        "kernel ran, and the command buffer does not retain references");
}

TEST_F(Misuse, BufferReleasedBeforeAnUnretainedCopy) {
    auto* commands = queue->commandBufferWithUnretainedReferences();
    auto* encoder = commands->blitCommandEncoder();
    encoder->fillBuffer(words.get(), NS::Range(0, 4), 1);
    encoder->endEncoding();
    words.reset();
    EXPECT_THAT(run(commands), HasSubstr("buffer 'words' was released before the command ran"));
}

TEST_F(Misuse, CopyOutsideABuffer) {
    const auto small = buffer(16);
    EXPECT_EQ(
        blit([&](auto* encoder) { encoder->copyFromBuffer(words.get(), 60, small.get(), 0, 8); }),
        "blit encoder: copyFromBuffer: 8 bytes from offset 60 on do not fit buffer 'words', which "
        "has 64 bytes");
    EXPECT_THAT(
        blit([&](auto* encoder) { encoder->copyFromBuffer(words.get(), 0, small.get(), 0, 32); }),
        HasSubstr("32 bytes from offset 0 on do not fit the buffer of 16 bytes"));
}

TEST_F(Misuse, CopyOntoItself) {
    EXPECT_THAT(
        blit([&](auto* encoder) { encoder->copyFromBuffer(words.get(), 0, words.get(), 4, 8); }),
        HasSubstr("source [0, 8) and destination [4, 12) overlap in buffer 'words'"));
}

TEST_F(Misuse, FillOutsideABuffer) {
    EXPECT_THAT(blit([&](auto* encoder) { encoder->fillBuffer(words.get(), NS::Range(0, 65), 1); }),
                HasSubstr("fillBuffer: 65 bytes from offset 0 on do not fit buffer 'words'"));
    EXPECT_THAT(blit([&](auto* encoder) { encoder->fillBuffer(nullptr, NS::Range(0, 1), 1); }),
                HasSubstr("fillBuffer: a buffer is nil"));
}

TEST_F(Misuse, SynchronizingWhatIsNotManaged) {
    EXPECT_THAT(blit([&](auto* encoder) { encoder->synchronizeResource(words.get()); }),
                HasSubstr("synchronizeResource: buffer 'words' does not have managed storage"));
}

TEST_F(Misuse, BarrierWithoutResources) {
    EXPECT_THAT(compute("increment", [](auto* encoder) { encoder->memoryBarrier(nullptr, 0); }),
                HasSubstr("memoryBarrierWithResources: no resources"));
}

TEST_F(Misuse, KernelThatLeavesItsBuffer) {
    EXPECT_THAT(compute("increment",
                        [&](auto* encoder) {
                            encoder->setBuffer(words.get(), 0, 0);
                            encoder->dispatchThreads({17, 1, 1}, {32, 1, 1});
                        }),
                AllOf(HasSubstr("kernel 'increment'"), HasSubstr("buffer 'words'")));
}

TEST_F(Misuse, KernelThatFollowsAnAddressNobodyMadeResident) {
    struct Table {
        uint64_t data;
        uint32_t count, unused;
    };
    const auto table = buffer<Table>({{.data = words->gpuAddress(), .count = 4, .unused = 0}});
    EXPECT_THAT(compute("through_table",
                        [&](auto* encoder) {
                            encoder->setBuffer(table.get(), 0, 0);
                            dispatch_one(encoder);
                        }),
                HasSubstr("kernel 'through_table'"));
}

TEST_F(Misuse, IsTracedToItsEncoderWhenAskedFor) {
    const auto descriptor = NS::TransferPtr(MTL::CommandBufferDescriptor::alloc()->init());
    descriptor->setErrorOptions(MTL::CommandBufferErrorOptionEncoderExecutionStatus);
    auto* commands = queue->commandBuffer(descriptor.get());
    const auto increment = kernel("increment");
    for (const auto* label : {"good", "bad", "never"}) {
        auto* encoder = commands->computeCommandEncoder();
        encoder->setLabel(text(label));
        encoder->insertDebugSignpost(text("here"));
        encoder->setComputePipelineState(increment.get());
        encoder->setBuffer(words.get(), 0, 0);
        encoder->dispatchThreads({NS::UInteger(std::string_view(label) == "bad" ? 1000 : 16), 1, 1},
                                 {16, 1, 1});
        encoder->endEncoding();
    }
    EXPECT_NE(run(commands), "");
    auto* info = commands->error()->userInfo();
    auto* encoders = info->object<NS::Array>(MTL::CommandBufferEncoderInfoErrorKey);
    ASSERT_NE(encoders, nullptr);
    ASSERT_EQ(encoders->count(), 3u);
    const MTL::CommandEncoderErrorState states[] = {MTL::CommandEncoderErrorStateCompleted,
                                                    MTL::CommandEncoderErrorStateFaulted,
                                                    MTL::CommandEncoderErrorStatePending};
    for (NS::UInteger i = 0; i < 3; ++i) {
        auto* one = encoders->object<MTL::CommandBufferEncoderInfo>(i);
        EXPECT_EQ(one->errorState(), states[i]);
        EXPECT_EQ(text(one->debugSignposts()->object<NS::String>(0)), "here");
    }
    EXPECT_EQ(text(encoders->object<MTL::CommandBufferEncoderInfo>(1)->label()), "bad");
}

TEST_F(Misuse, OfBindingsIsTheProgramsBusinessWithoutChecks) {
    set_checks(device.get(), Checks::Off);
    const auto careful = pipeline(R"(
        kernel void careful(device uint* out [[buffer(0)]], device uint* unused [[buffer(1)]],
                            constant uint& use [[buffer(2)]]) {
            out[0] = use ? unused[0] : 5;
        })",
                                  "careful");
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(careful.get());
    const uint32_t use = 0;
    encoder->setBuffer(words.get(), 0, 0);
    encoder->setBytes(&use, 4, 2);
    dispatch_one(encoder);
    encoder->dispatchThreads({0, 1, 1}, {1, 1, 1});
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_EQ(values<uint32_t>(words.get())[0], 5u);
}

TEST_F(Misuse, OfWhatSoftmetalLacksStopsByName) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(words->newTexture(nullptr, 0, 0),
                 "MTLBuffer.*newTextureWithDescriptor:offset:bytesPerRow:");
    EXPECT_DEATH(device->newSamplerState(nullptr), "MTLDevice.*newSamplerStateWithDescriptor:");
}

}  // namespace
}  // namespace softmetal::test
