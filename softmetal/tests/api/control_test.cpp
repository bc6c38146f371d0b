// softmetal/control.h: profiles, failures on request, counters.
#include "softmetal/control.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

using testing::HasSubstr;

class Control : public Metal {
  protected:
    void TearDown() override {
        Metal::TearDown();
        set_default_profile({});
    }
    void use(const DeviceProfile& profile) {
        set_default_profile(profile);
        device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
        queue = NS::TransferPtr(device->newCommandQueue());
    }
    MTL::CommandBuffer* work() {
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->endEncoding();
        return commands;
    }
};

TEST_F(Control, ProfileIsWhatTheDeviceReports) {
    use({.name = "Apple M1",
         .memory_bytes = uint64_t{1} << 30,
         .max_buffer_bytes = uint64_t{1} << 29,
         .max_threads_per_threadgroup = 512,
         .max_threadgroup_memory_bytes = 16384,
         .apple_family = 3});
    EXPECT_EQ(text(device->name()), "Apple M1");
    EXPECT_EQ(device->recommendedMaxWorkingSetSize(), uint64_t{1} << 30);
    EXPECT_EQ(device->maxBufferLength(), NS::UInteger{1} << 29);
    EXPECT_EQ(device->maxThreadsPerThreadgroup().depth, 512u);
    EXPECT_EQ(device->maxThreadgroupMemoryLength(), 16384u);
    EXPECT_TRUE(device->supportsFamily(MTL::GPUFamilyApple3));
    EXPECT_FALSE(device->supportsFamily(MTL::GPUFamilyApple4));
    EXPECT_FALSE(device->supportsFamily(MTL::GPUFamilyMetal3));
    EXPECT_EQ(default_profile().name, "Apple M1");
    EXPECT_EQ(pipeline(kKernels, "add")->maxTotalThreadsPerThreadgroup(), 512u);
}

TEST_F(Control, RaggedGridsNeedAFamilyThatHasThem) {
    use({.apple_family = 3});
    const auto increment = pipeline(kKernels, "increment");
    const auto out = buffer(64);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(increment.get());
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads({4, 1, 1}, {4, 1, 1});
    encoder->endEncoding();
    EXPECT_THAT(run(commands),
                HasSubstr("needs a device of family Apple4, and this one is Apple3"));
}

TEST_F(Control, ADeviceThatCannotBeMadeIsNilAndSaysWhy) {
    rlimit before = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    set_default_profile({});
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    auto* const refused = MTL::CreateSystemDefaultDevice();
    const auto all = NS::TransferPtr(MTL::CopyAllDevices());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(refused, nullptr);
    EXPECT_EQ(all->count(), 0u);
    EXPECT_EQ(why_nil(), "no device memory: memfd_create: Too many open files");
    use({});
    EXPECT_EQ(run(work()), "");
}

TEST_F(Control, AQueueWithoutThreadsIsNilAndSaysWhy) {
    refuse_threads(true);
    auto* const refused = device->newCommandQueue();
    refuse_threads(false);
    EXPECT_EQ(refused, nullptr);
    EXPECT_EQ(why_nil(), "a thread could not be started: Resource temporarily unavailable");
}

TEST_F(Control, GridsRunAndBackgroundWorkIsDoneWhereThreadsAreRefused) {
    use({.workers = 4});
    const auto out = buffer(64 * 1024 * 4);
    const auto increment = pipeline(kKernels, "increment");
    refuse_threads(true);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(increment.get());
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads({64 * 1024, 1, 1}, {64, 1, 1});
    encoder->endEncoding();
    const auto failure = run(commands);
    __block std::string compiled = "not called";
    device->newLibrary(text(kKernels), nullptr, ^(MTL::Library* made, NS::Error* error) {
      compiled = made ? "made" : description(error);
    });
    refuse_threads(false);
    EXPECT_EQ(failure, "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::Each(1u));
    EXPECT_EQ(compiled, "made");
}

TEST_F(Control, MemoryIsOnlyAdviceUnlessEnforced) {
    use({.memory_bytes = 4 * kPage, .max_buffer_bytes = uint64_t{1} << 30});
    EXPECT_TRUE(buffer(64 * kPage));
}

TEST_F(Control, EnforcedMemoryRefusesWhatDoesNotFit) {
    use({.memory_bytes = 4 * kPage, .enforce_memory = true});
    auto three = buffer(3 * kPage);
    ASSERT_TRUE(three);
    EXPECT_FALSE(buffer(2 * kPage));
    const auto one = buffer(1);
    ASSERT_TRUE(one);
    EXPECT_FALSE(buffer(1));
    EXPECT_EQ(device->currentAllocatedSize(), 4 * kPage);
    three.reset();
    EXPECT_TRUE(buffer(3 * kPage));
}

TEST_F(Control, EnforcedMemoryCountsTheProgramsOwn) {
    use({.memory_bytes = 4 * kPage, .enforce_memory = true});
    const auto memory = std::unique_ptr<void, decltype(&std::free)>(
        std::aligned_alloc(kPage, 4 * kPage), &std::free);
    const auto map = [&](size_t pages) {
        return NS::TransferPtr(device->newBuffer(memory.get(), pages * kPage,
                                                 MTL::ResourceStorageModeShared, nullptr));
    };
    const auto kept = map(3);
    ASSERT_TRUE(kept);
    EXPECT_FALSE(map(2));
    EXPECT_FALSE(buffer(2 * kPage));
    EXPECT_TRUE(map(1));
}

TEST_F(Control, RefusesTheNthAllocation) {
    refuse_allocation(device.get(), 2);
    EXPECT_TRUE(buffer(16));
    EXPECT_FALSE(buffer(16));
    EXPECT_TRUE(buffer(16));
}

TEST_F(Control, FailsACommandBufferWithEachCode) {
    for (const auto code :
         {MTL::CommandBufferErrorInternal, MTL::CommandBufferErrorTimeout,
          MTL::CommandBufferErrorPageFault, MTL::CommandBufferErrorAccessRevoked,
          MTL::CommandBufferErrorNotPermitted, MTL::CommandBufferErrorOutOfMemory,
          MTL::CommandBufferErrorInvalidResource, MTL::CommandBufferErrorMemoryless,
          MTL::CommandBufferErrorDeviceRemoved, MTL::CommandBufferErrorStackOverflow}) {
        fail_next_command_buffer(device.get(), static_cast<int64_t>(code));
        auto* commands = work();
        EXPECT_EQ(run(commands), "failed on request");
        EXPECT_EQ(commands->status(), MTL::CommandBufferStatusError);
        EXPECT_EQ(commands->error()->code(), static_cast<NS::Integer>(code));
    }
    EXPECT_EQ(run(work()), "");
}

TEST_F(Control, HangsACommandBufferPastABound) {
    hang_next_command_buffer(device.get(), 0.05);
    const auto start = std::chrono::steady_clock::now();
    auto* commands = work();
    commands->commit();
    EXPECT_NE(commands->status(), MTL::CommandBufferStatusError);
    commands->waitUntilCompleted();
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
    EXPECT_EQ(commands->error()->code(), MTL::CommandBufferErrorTimeout);
    EXPECT_THAT(description(commands->error()), HasSubstr("hung for 0.05 s"));
    EXPECT_EQ(run(work()), "");
}

TEST_F(Control, FailsAPipeline) {
    const auto from = library(kKernels);
    const auto function = NS::TransferPtr(from->newFunction(text("add")));
    fail_next_pipeline(device.get(), "the compiler ran out of registers");
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newComputePipelineState(function.get(), &error), nullptr);
    EXPECT_EQ(description(error), "the compiler ran out of registers");
    EXPECT_TRUE(NS::TransferPtr(device->newComputePipelineState(function.get(), &error)));
}

TEST_F(Control, CountsWhatKernelsDo) {
    set_checks(device.get(), Checks::Bounds);
    set_memory_counters(device.get(), true);
    const auto sum = pipeline(kKernels, "sum_groups");
    const auto in = buffer(256), out = buffer(8);
    for (int i = 0; i < 2; ++i) {
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(sum.get());
        encoder->setBuffer(in.get(), 0, 0);
        encoder->setBuffer(out.get(), 0, 1);
        encoder->setThreadgroupMemoryLength(128, 0);
        encoder->dispatchThreadgroups({2, 1, 1}, {32, 1, 1});
        encoder->endEncoding();
        EXPECT_EQ(run(commands), "");
    }
    const auto all = counters(device.get());
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].kernel, "sum_groups");
    EXPECT_EQ(all[0].dispatches, 2u);
    EXPECT_EQ(all[0].threads, 128u);
    EXPECT_EQ(all[0].barriers, 4u);
    EXPECT_EQ(all[0].read_bytes, 512u);
    EXPECT_EQ(all[0].read_distinct_bytes, 512u);
    EXPECT_EQ(all[0].written_bytes, 16u);
    reset_counters(device.get());
    EXPECT_TRUE(counters(device.get()).empty());
}

TEST_F(Control, ChecksAreADevicesSetting) {
    set_checks(device.get(), Checks::All);
    EXPECT_EQ(checks(device.get()), Checks::All);
    set_checks(device.get(), Checks::Off);
    EXPECT_EQ(checks(device.get()), Checks::Off);
}

TEST_F(Control, OrderOfThreadgroupsFollowsTheSeed) {
    use({.workers = 1});
    const auto order = pipeline(R"(
        #include <metal_stdlib>
        using namespace metal;
        kernel void order(device atomic_uint* next [[buffer(0)]], device uint* at [[buffer(1)]],
                          uint group [[threadgroup_position_in_grid]]) {
            at[group] = atomic_fetch_add_explicit(next, 1u, memory_order_relaxed);
        })",
                                "order");
    const auto run_with = [&](uint64_t seed) {
        set_order_seed(device.get(), seed);
        const auto next = buffer(4), at = buffer(64 * 4);
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(order.get());
        encoder->setBuffer(next.get(), 0, 0);
        encoder->setBuffer(at.get(), 0, 1);
        encoder->dispatchThreadgroups({64, 1, 1}, {1, 1, 1});
        encoder->endEncoding();
        EXPECT_EQ(run(commands), "");
        return values<uint32_t>(at.get());
    };
    std::vector<uint32_t> ascending;
    for (uint32_t i = 0; i < 64; ++i) ascending.push_back(i);
    EXPECT_EQ(run_with(0), ascending);
    const auto shuffled = run_with(5);
    EXPECT_NE(shuffled, ascending);
    EXPECT_THAT(shuffled, testing::UnorderedElementsAreArray(ascending));
    EXPECT_EQ(run_with(5), shuffled);
}

std::map<std::string, uint64_t> live() {
    std::map<std::string, uint64_t> all;
    for (const auto& object : live_objects()) all[object.class_name] = object.count;
    return all;
}

TEST(Leaks, NothingIsLeftOfAWholeProgram) {
    const auto program = [] {
        const auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
        const auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
        const auto queue = NS::TransferPtr(device->newCommandQueue());
        NS::Error* error = nullptr;
        const auto library = NS::TransferPtr(device->newLibrary(text(kKernels), nullptr, &error));
        ASSERT_TRUE(library) << description(error);
        const auto function = NS::TransferPtr(library->newFunction(text("increment")));
        MTL::ComputePipelineReflection* reflection = nullptr;
        const auto pipeline = NS::TransferPtr(device->newComputePipelineState(
            function.get(), MTL::PipelineOptionArgumentInfo, &reflection, &error));
        EXPECT_EQ(reflection->bindings()->count(), 1u);
        const auto buffer = NS::TransferPtr(device->newBuffer(64, MTL::ResourceStorageModeShared));
        buffer->setLabel(text("words"));
        for (const NS::UInteger threads : {16, 100}) {
            auto* commands = queue->commandBuffer();
            auto* encoder = commands->computeCommandEncoder();
            encoder->setComputePipelineState(pipeline.get());
            encoder->setBuffer(buffer.get(), 0, 0);
            encoder->dispatchThreads({threads, 1, 1}, {16, 1, 1});
            encoder->endEncoding();
            commands->addCompletedHandler(MTL::HandlerFunction([](MTL::CommandBuffer*) {}));
            commands->commit();
            commands->waitUntilCompleted();
            EXPECT_EQ(commands->error() != nullptr, threads == 100);
        }
        auto* never_committed = queue->commandBuffer();
        never_committed->blitCommandEncoder()->fillBuffer(buffer.get(), NS::Range(0, 4), 1);
    };
    program();  // constants and caches that stay
    const auto before = live();
    for (int i = 0; i < 3; ++i) program();
    EXPECT_EQ(live(), before);
    EXPECT_EQ(live().count("MTLDevice"), 0u);
    EXPECT_EQ(live().count("MTLBuffer"), 0u);
    EXPECT_EQ(live().count("MTLCommandBuffer"), 0u);
}

}  // namespace
}  // namespace softmetal::test
