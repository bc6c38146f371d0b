// MTLComputePipelineState: a function ready to be dispatched, and the limits it came out with.
#pragma once

#include <memory>

#include <Metal/MTLComputePipeline.hpp>
#include <Metal/MTLDevice.hpp>

#include "softmetal/api/device.h"
#include "softmetal/api/function.h"
#include "softmetal/api/kernel_code.h"
#include "softmetal/api/reflection.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

// MTLPipelineBufferDescriptor: a promise about a binding. Kept, and of no use to us.
struct PipelineBufferDescriptor : objc::Object {
    MTL::Mutability mutability = MTL::MutabilityDefault;
};
struct PipelineBufferDescriptorArray : objc::Object {
    std::array<objc::Ref<PipelineBufferDescriptor>, SM_MAX_BUFFERS> items;
};

struct ComputePipelineDescriptor : objc::Object {
    objc::Ref<Object> label;
    objc::Ref<Function> function;
    NS::UInteger max_threads = 0;  // 0: what the function and the device allow
    NS::UInteger max_call_stack_depth = 1;
    bool is_multiple_of_width = false;
    bool supports_indirect_command_buffers = false;
    MTL::ShaderValidation validation = MTL::ShaderValidationDefault;
    objc::Ref<PipelineBufferDescriptorArray> buffers;

    ComputePipelineDescriptor();
    void reset();
};

struct ComputePipeline : objc::Object {
    ComputePipeline(objc::Ref<Device> device, std::shared_ptr<KernelCode> code);

    const objc::Ref<Device> device;
    const std::shared_ptr<KernelCode> code;
    KernelTally* const tally;
    objc::Ref<Object> label;
    uint32_t max_threads = 0;  // maxTotalThreadsPerThreadgroup
    uint64_t static_threadgroup_bytes = 0;
    bool is_multiple_of_width = false;  // threadgroups are whole SIMD groups, the program promised
    MTL::ShaderValidation validation = MTL::ShaderValidationDefault;
};

using PipelineHandler = void (^)(ComputePipeline*, objc::Error*);
using ReflectedPipelineHandler = void (^)(ComputePipeline*, ComputePipelineReflection*,
                                          objc::Error*);

// Methods of MTLDevice.
ComputePipeline* new_pipeline(Device* device, Function* function, objc::Object** error);
ComputePipeline* new_pipeline_reflected(Device* device, Function* function,
                                        MTL::PipelineOption option, objc::Object** reflection,
                                        objc::Object** error);
void new_pipeline_async(Device* device, Function* function, PipelineHandler handler);
void new_pipeline_reflected_async(Device* device, Function* function, MTL::PipelineOption option,
                                  ReflectedPipelineHandler handler);
ComputePipeline* new_pipeline_described(Device* device, ComputePipelineDescriptor* descriptor,
                                        MTL::PipelineOption option, objc::Object** reflection,
                                        objc::Object** error);
void new_pipeline_described_async(Device* device, ComputePipelineDescriptor* descriptor,
                                  MTL::PipelineOption option, ReflectedPipelineHandler handler);

void register_compute_pipeline();

}  // namespace softmetal::api
