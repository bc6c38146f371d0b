#include <future>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Pipeline : public Metal {
  protected:
    NS::SharedPtr<MTL::Function> function(const std::string& source, const char* name) {
        return NS::TransferPtr(library(source)->newFunction(text(name)));
    }
};

constexpr const char* kLimited = R"(
#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(96)]]
kernel void limited(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float tile[64];
    threadgroup float row[16];
    tile[i % 64] = row[i % 16] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[i % 64] + row[i % 16];
}
kernel void too_large(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float tile[10000];
    tile[i] = 1;
    out[i] = tile[i];
}
)";

TEST_F(Pipeline, AllowsWhatTheDeviceAllows) {
    const auto made = pipeline(kKernels, "add");
    EXPECT_EQ(made->maxTotalThreadsPerThreadgroup(), 1024u);
    EXPECT_EQ(made->threadExecutionWidth(), 32u);
    EXPECT_EQ(made->staticThreadgroupMemoryLength(), 0u);
    EXPECT_EQ(made->device(), device.get());
    EXPECT_FALSE(made->supportIndirectCommandBuffers());
}

TEST_F(Pipeline, AllowsWhatTheKernelSays) {
    const auto made = pipeline(kLimited, "limited");
    EXPECT_EQ(made->maxTotalThreadsPerThreadgroup(), 96u);
    EXPECT_EQ(made->staticThreadgroupMemoryLength(), (64u + 16u) * sizeof(float));
}

TEST_F(Pipeline, AllowsWhatTheDescriptorSays) {
    const auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    const auto add = function(kKernels, "add");
    descriptor->setComputeFunction(add.get());
    descriptor->setMaxTotalThreadsPerThreadgroup(64);
    descriptor->setThreadGroupSizeIsMultipleOfThreadExecutionWidth(true);
    descriptor->setLabel(text("sum"));
    descriptor->buffers()->object(0)->setMutability(MTL::MutabilityImmutable);
    EXPECT_EQ(descriptor->buffers()->object(0)->mutability(), MTL::MutabilityImmutable);
    NS::Error* error = nullptr;
    const auto made = NS::TransferPtr(device->newComputePipelineState(
        descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
    ASSERT_TRUE(made) << description(error);
    EXPECT_EQ(made->maxTotalThreadsPerThreadgroup(), 64u);
    EXPECT_EQ(text(made->label()), "sum");
}

TEST_F(Pipeline, IsNotMadeForMoreThreadgroupMemoryThanThereIs) {
    NS::Error* error = nullptr;
    const auto* made =
        device->newComputePipelineState(function(kLimited, "too_large").get(), &error);
    EXPECT_EQ(made, nullptr);
    EXPECT_THAT(description(error), testing::HasSubstr("40000"));
    EXPECT_THAT(description(error), testing::HasSubstr("32768"));
}

TEST_F(Pipeline, TellsOfItsArguments) {
    MTL::ComputePipelineReflection* reflection = nullptr;
    NS::Error* error = nullptr;
    const auto made = NS::TransferPtr(
        device->newComputePipelineState(function(kKernels, "sum_groups").get(),
                                        MTL::PipelineOptionArgumentInfo, &reflection, &error));
    ASSERT_TRUE(made) << description(error);
    ASSERT_NE(reflection, nullptr);
    auto* bindings = reflection->bindings();
    ASSERT_EQ(bindings->count(), 3u);

    auto* in = bindings->object<MTL::BufferBinding>(0);
    EXPECT_EQ(text(in->name()), "in");
    EXPECT_EQ(in->type(), MTL::BindingTypeBuffer);
    EXPECT_EQ(in->index(), 0u);
    EXPECT_EQ(in->access(), MTL::BindingAccessReadOnly);
    EXPECT_EQ(in->bufferDataType(), MTL::DataTypeUInt);
    EXPECT_EQ(in->bufferDataSize(), 4u);
    EXPECT_EQ(in->bufferAlignment(), 4u);
    EXPECT_TRUE(in->isUsed());
    EXPECT_TRUE(in->isArgument());
    EXPECT_EQ(in->bufferPointerType()->elementType(), MTL::DataTypeUInt);

    auto* out = bindings->object<MTL::BufferBinding>(1);
    EXPECT_EQ(out->access(), MTL::BindingAccessReadWrite);

    auto* shared = bindings->object<MTL::ThreadgroupBinding>(2);
    EXPECT_EQ(text(shared->name()), "shared");
    EXPECT_EQ(shared->type(), MTL::BindingTypeThreadgroupMemory);
    EXPECT_EQ(shared->index(), 0u);
    EXPECT_EQ(shared->threadgroupMemoryDataSize(), 4u);
}

TEST_F(Pipeline, TellsOfItsArgumentsInTheOlderWords) {
    MTL::ComputePipelineReflection* reflection = nullptr;
    const auto made = NS::TransferPtr(device->newComputePipelineState(
        function(kKernels, "scale").get(), MTL::PipelineOptionArgumentInfo, &reflection, nullptr));
    ASSERT_TRUE(made);
    auto* arguments = reflection->arguments();
    ASSERT_EQ(arguments->count(), 2u);
    auto* shape = arguments->object<MTL::Argument>(1);
    EXPECT_EQ(text(shape->name()), "shape");
    EXPECT_EQ(shape->type(), MTL::ArgumentTypeBuffer);
    EXPECT_EQ(shape->bufferDataType(), MTL::DataTypeStruct);
    EXPECT_EQ(shape->bufferDataSize(), 12u);
    EXPECT_TRUE(shape->isActive());
}

TEST_F(Pipeline, KnowsTheTypesOfItsArguments) {
    MTL::ComputePipelineReflection* reflection = nullptr;
    NS::Error* error = nullptr;
    const auto made = NS::TransferPtr(
        device->newComputePipelineState(function(R"(
            #include <metal_stdlib>
            using namespace metal;
            kernel void f(device const float4* a [[buffer(0)]],
                          constant half& b [[buffer(1)]],
                          device atomic_uint* c [[buffer(2)]],
                          constant unsigned int& d [[buffer(3)]],
                          device metal::vec<float, 2>* e [[buffer(4)]],
                          constant float4x4& g [[buffer(5)]],
                          device const uint8_t* h [[buffer(6)]],
                          const device int3* i [[buffer(7)]],
                          constant bool& j [[buffer(8)]],
                          device bfloat* k [[buffer(9)]],
                          threadgroup half* l [[threadgroup(1)]]) {})",
                                                 "f")
                                            .get(),
                                        MTL::PipelineOptionBufferTypeInfo, &reflection, &error));
    ASSERT_TRUE(made) << description(error);
    std::vector<MTL::DataType> types;
    for (NS::UInteger i = 0; i < 10; ++i) {
        types.push_back(reflection->bindings()->object<MTL::BufferBinding>(i)->bufferDataType());
    }
    EXPECT_THAT(types,
                testing::ElementsAre(MTL::DataTypeFloat4, MTL::DataTypeHalf, MTL::DataTypeUInt,
                                     MTL::DataTypeUInt, MTL::DataTypeFloat2, MTL::DataTypeFloat4x4,
                                     MTL::DataTypeUChar, MTL::DataTypeInt3, MTL::DataTypeBool,
                                     MTL::DataTypeBFloat));
    EXPECT_EQ(reflection->bindings()->object<MTL::ThreadgroupBinding>(10)->index(), 1u);
}

TEST_F(Pipeline, IsMadeInTheBackground) {
    std::promise<NS::SharedPtr<MTL::ComputePipelineState>> told;
    device->newComputePipelineState(function(kKernels, "add").get(),
                                    MTL::NewComputePipelineStateCompletionHandlerFunction(
                                        [&](MTL::ComputePipelineState* made, NS::Error*) {
                                            told.set_value(NS::RetainPtr(made));
                                        }));
    const auto made = told.get_future().get();
    ASSERT_TRUE(made);
    EXPECT_EQ(made->maxTotalThreadsPerThreadgroup(), 1024u);
}

TEST_F(Pipeline, IsMadeInTheBackgroundWithReflection) {
    std::promise<NS::UInteger> told;
    device->newComputePipelineState(
        function(kKernels, "add").get(), MTL::PipelineOptionArgumentInfo,
        MTL::NewComputePipelineStateWithReflectionCompletionHandlerFunction(
            [&](MTL::ComputePipelineState* made, MTL::ComputePipelineReflection* reflection,
                NS::Error*) { told.set_value(made ? reflection->bindings()->count() : 0); }));
    EXPECT_EQ(told.get_future().get(), 3u);
}

TEST_F(Pipeline, FailsInTheBackground) {
    const auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    descriptor->setComputeFunction(function(kLimited, "too_large").get());
    std::promise<std::string> told;
    device->newComputePipelineState(
        descriptor.get(), MTL::PipelineOptionNone,
        MTL::NewComputePipelineStateWithReflectionCompletionHandlerFunction(
            [&](MTL::ComputePipelineState*, MTL::ComputePipelineReflection*, NS::Error* error) {
                told.set_value(description(error));
            }));
    EXPECT_THAT(told.get_future().get(), testing::HasSubstr("40000"));
}

}  // namespace
}  // namespace softmetal::test
