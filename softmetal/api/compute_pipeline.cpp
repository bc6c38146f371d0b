#include "softmetal/api/compute_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "softmetal/api/errors.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {

ComputePipelineDescriptor::ComputePipelineDescriptor()
    : buffers(objc::make<PipelineBufferDescriptorArray>()) {}

void ComputePipelineDescriptor::reset() {
    label = nullptr;
    function = nullptr;
    max_threads = 0;
    max_call_stack_depth = 1;
    is_multiple_of_width = false;
    supports_indirect_command_buffers = false;
    validation = MTL::ShaderValidationDefault;
    buffers = objc::make<PipelineBufferDescriptorArray>();
}

ComputePipeline::ComputePipeline(objc::Ref<Device> on, std::shared_ptr<KernelCode> with)
    : device(std::move(on)), code(std::move(with)), tally(device->tally(code->name())) {}

namespace {

// What the pipeline is to be, beside its function.
struct Wanted {
    objc::Ref<objc::Object> label;
    uint64_t max_threads = 0;
    bool is_multiple_of_width = false;
    MTL::ShaderValidation validation = MTL::ShaderValidationDefault;
};

Result<objc::Ref<ComputePipeline>> make_pipeline(Device* device, Function* function,
                                                 const Wanted& wanted) {
    if (auto reason = device->take_pipeline_failure()) return fail(*std::move(reason));
    if (function == nullptr) return fail("the compute function is nil");
    const auto code = SOFTMETAL_TRY(function->code);
    const auto limits = code->limits();
    const auto& allowed = device->limits;
    if (limits.static_threadgroup_bytes > allowed.max_threadgroup_bytes) {
        return fail(fmt::format(
            "function '{}' declares {} bytes of threadgroup memory, and the device "
            "allows {}",
            code->name(), limits.static_threadgroup_bytes, allowed.max_threadgroup_bytes));
    }
    if (wanted.max_threads > allowed.max_threads_per_threadgroup) {
        return fail(
            fmt::format("function '{}': maxTotalThreadsPerThreadgroup is {}, and the device "
                        "allows {}",
                        code->name(), wanted.max_threads, allowed.max_threads_per_threadgroup));
    }
    auto pipeline = objc::make<ComputePipeline>(objc::Ref<Device>::retaining(device), code);
    pipeline->label = wanted.label;
    pipeline->static_threadgroup_bytes = limits.static_threadgroup_bytes;
    pipeline->is_multiple_of_width = wanted.is_multiple_of_width;
    pipeline->validation = wanted.validation;
    pipeline->max_threads = allowed.max_threads_per_threadgroup;
    for (const uint64_t max :
         {uint64_t{limits.max_total_threads}, function->max_threads, wanted.max_threads}) {
        if (max != 0)
            pipeline->max_threads = std::min(pipeline->max_threads, static_cast<uint32_t>(max));
    }
    return pipeline;
}

Wanted wanted_by(const ComputePipelineDescriptor& descriptor) {
    return {.label = descriptor.label,
            .max_threads = descriptor.max_threads,
            .is_multiple_of_width = descriptor.is_multiple_of_width,
            .validation = descriptor.validation};
}

objc::Ref<objc::Error> error_of(const std::string& why) {
    return make_error(MTLLibraryErrorDomain, static_cast<int64_t>(MTL::LibraryErrorCompileFailure),
                      why);
}

ComputePipeline* handed_out(Result<objc::Ref<ComputePipeline>> made, objc::Object** reflection,
                            objc::Object** error) {
    if (!made) {
        objc::set_error(error, error_of(made.error()));
        return nullptr;
    }
    if (reflection) *reflection = objc::autoreleased(make_reflection((*made)->code));
    return made->leak();
}

// `tell` gets the pipeline, or null and the error.
template <class Make, class Tell>
void in_background(Device* device, Make make, Tell tell) {
    device->background().add([make = std::move(make), tell = std::move(tell)] {
        const Result<objc::Ref<ComputePipeline>> made = make();
        if (made) {
            tell(made->get(), nullptr);
        } else {
            tell(nullptr, error_of(made.error()).get());
        }
    });
}

auto teller(ReflectedPipelineHandler handler) {
    using Handler = objc::Block<void(ComputePipeline*, ComputePipelineReflection*, objc::Error*)>;
    return [block = Handler(handler)](ComputePipeline* pipeline, objc::Error* error) {
        const auto reflection = pipeline ? make_reflection(pipeline->code) : nullptr;
        block(pipeline, reflection.get(), error);
    };
}

auto maker(Device* device, Function* function, Wanted wanted) {
    return [device = objc::Ref<Device>::retaining(device),
            function = objc::Ref<Function>::retaining(function), wanted = std::move(wanted)] {
        return make_pipeline(device.get(), function.get(), wanted);
    };
}

}  // namespace

ComputePipeline* new_pipeline(Device* device, Function* function, objc::Object** error) {
    return handed_out(make_pipeline(device, function, {}), nullptr, error);
}

ComputePipeline* new_pipeline_reflected(Device* device, Function* function, MTL::PipelineOption,
                                        objc::Object** reflection, objc::Object** error) {
    return handed_out(make_pipeline(device, function, {}), reflection, error);
}

void new_pipeline_async(Device* device, Function* function, PipelineHandler handler) {
    in_background(device, maker(device, function, {}),
                  objc::Block<void(ComputePipeline*, objc::Error*)>(handler));
}

void new_pipeline_reflected_async(Device* device, Function* function, MTL::PipelineOption,
                                  ReflectedPipelineHandler handler) {
    in_background(device, maker(device, function, {}), teller(handler));
}

ComputePipeline* new_pipeline_described(Device* device, ComputePipelineDescriptor* descriptor,
                                        MTL::PipelineOption, objc::Object** reflection,
                                        objc::Object** error) {
    return handed_out(make_pipeline(device, descriptor->function.get(), wanted_by(*descriptor)),
                      reflection, error);
}

void new_pipeline_described_async(Device* device, ComputePipelineDescriptor* descriptor,
                                  MTL::PipelineOption, ReflectedPipelineHandler handler) {
    in_background(device, maker(device, descriptor->function.get(), wanted_by(*descriptor)),
                  teller(handler));
}

// ---- Messages -----------------------------------------------------------------------------------

namespace {

using Descriptor = ComputePipelineDescriptor;
using BufferArray = PipelineBufferDescriptorArray;

PipelineBufferDescriptor* buffer_descriptor(BufferArray* array, NS::UInteger index) {
    if (index >= array->items.size()) {
        objc::stop("MTLPipelineBufferDescriptorArray: index %lu is past the last one, %zu",
                   static_cast<unsigned long>(index), array->items.size() - 1);
    }
    auto& item = array->items[index];
    if (!item) item = objc::make<PipelineBufferDescriptor>();
    return item.get();
}

void set_buffer_descriptor(BufferArray* array, PipelineBufferDescriptor* descriptor,
                           NS::UInteger index) {
    buffer_descriptor(array, index)->mutability =
        descriptor ? descriptor->mutability : MTL::MutabilityDefault;
}

PipelineBufferDescriptor* copy_buffer_descriptor(PipelineBufferDescriptor* from) {
    auto made = objc::make<PipelineBufferDescriptor>();
    made->mutability = from->mutability;
    return made.leak();
}

Descriptor* copy(Descriptor* from) {
    auto made = objc::make<Descriptor>();
    made->label = from->label;
    made->function = from->function;
    made->max_threads = from->max_threads;
    made->max_call_stack_depth = from->max_call_stack_depth;
    made->is_multiple_of_width = from->is_multiple_of_width;
    made->supports_indirect_command_buffers = from->supports_indirect_command_buffers;
    made->validation = from->validation;
    for (NS::UInteger i = 0; i < from->buffers->items.size(); ++i) {
        const auto& item = from->buffers->items[i];
        if (item) set_buffer_descriptor(made->buffers.get(), item.get(), i);
    }
    return made.leak();
}

}  // namespace

void register_compute_pipeline() {
    using objc::method;
    using objc::property;
    objc::define_class<PipelineBufferDescriptor>(
        "MTLPipelineBufferDescriptor",
        {
            objc::allocatable<PipelineBufferDescriptor>(),
            property<&PipelineBufferDescriptor::mutability>("mutability", "setMutability:"),
            method<&copy_buffer_descriptor>("copy"),
        });
    objc::define_class<BufferArray>(
        "MTLPipelineBufferDescriptorArray",
        {
            objc::allocatable<BufferArray>(),
            method<&buffer_descriptor>("objectAtIndexedSubscript:"),
            method<&set_buffer_descriptor>("setObject:atIndexedSubscript:"),
        });
    objc::define_class<Descriptor>(
        "MTLComputePipelineDescriptor",
        {
            objc::allocatable<Descriptor>(),
            objc::copied_property<&Descriptor::label>("label", "setLabel:"),
            property<&Descriptor::function>("computeFunction", "setComputeFunction:"),
            property<&Descriptor::max_threads>("maxTotalThreadsPerThreadgroup",
                                               "setMaxTotalThreadsPerThreadgroup:"),
            property<&Descriptor::max_call_stack_depth>("maxCallStackDepth",
                                                        "setMaxCallStackDepth:"),
            property<&Descriptor::is_multiple_of_width>(
                "threadGroupSizeIsMultipleOfThreadExecutionWidth",
                "setThreadGroupSizeIsMultipleOfThreadExecutionWidth:"),
            property<&Descriptor::supports_indirect_command_buffers>(
                "supportIndirectCommandBuffers", "setSupportIndirectCommandBuffers:"),
            property<&Descriptor::validation>("shaderValidation", "setShaderValidation:"),
            property<&Descriptor::buffers>("buffers"),
            method<&Descriptor::reset>("reset"),
            method<&copy>("copy"),
        });
    objc::define_class<ComputePipeline>(
        "MTLComputePipelineState",
        {
            method<+[](ComputePipeline* p) { return p->device.get(); }>("device"),
            property<&ComputePipeline::label>("label"),
            method<+[](ComputePipeline* p) -> NS::UInteger { return p->max_threads; }>(
                "maxTotalThreadsPerThreadgroup"),
            method<+[](ComputePipeline*) -> NS::UInteger { return SM_SIMD_WIDTH; }>(
                "threadExecutionWidth"),
            method<+[](ComputePipeline* p) -> NS::UInteger { return p->static_threadgroup_bytes; }>(
                "staticThreadgroupMemoryLength"),
            // There are no indirect command buffers that it could be encoded into.
            method<+[](ComputePipeline*) { return false; }>("supportIndirectCommandBuffers"),
            property<&ComputePipeline::validation>("shaderValidation"),
            method<+[](ComputePipeline* p) {
                return objc::autoreleased(make_reflection(p->code));
            }>("reflection"),
        });
}

}  // namespace softmetal::api
