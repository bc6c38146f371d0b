#include "softmetal/api/counters.h"

#include "softmetal/api/errors.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/collections.h"

SOFTMETAL_STRING_CONSTANT(MTLCounterErrorDomain, "MTLCounterErrorDomain");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterTimestamp, "GPUTimestamp");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterTessellationInputPatches, "TessellationInputPatches");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterVertexInvocations, "VertexInvocations");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterPostTessellationVertexInvocations,
                          "PostTessellationVertexInvocations");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterClipperInvocations, "ClipperInvocations");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterClipperPrimitivesOut, "ClipperPrimitivesOut");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterFragmentInvocations, "FragmentInvocations");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterFragmentsPassed, "FragmentsPassed");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterComputeKernelInvocations, "KernelInvocations");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterTotalCycles, "TotalCycles");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterVertexCycles, "VertexCycles");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterTessellationCycles, "TessellationCycles");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterPostTessellationVertexCycles,
                          "PostTessellationVertexCycles");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterFragmentCycles, "FragmentCycles");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterRenderTargetWriteCycles, "RenderTargetWriteCycles");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterSetTimestamp, "timestamp");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterSetStageUtilization, "stageutilization");
SOFTMETAL_STRING_CONSTANT(MTLCommonCounterSetStatistic, "statistic");

namespace softmetal::api {
namespace {

CounterSampleBufferDescriptor* copy(CounterSampleBufferDescriptor* from) {
    auto made = objc::make<CounterSampleBufferDescriptor>();
    made->set = from->set;
    made->label = from->label;
    made->storage = from->storage;
    made->sample_count = from->sample_count;
    return made.leak();
}

}  // namespace

objc::Object* counter_sets(Device*) { return objc::autoreleased(objc::make<objc::Array>()); }

bool supports_counter_sampling(Device*, MTL::CounterSamplingPoint) { return false; }

objc::Object* new_counter_sample_buffer(Device*, CounterSampleBufferDescriptor*,
                                        objc::Object** error) {
    objc::set_error(error, make_error(MTLCounterErrorDomain, MTL::CounterSampleBufferErrorInvalid,
                                      "this device has no counter sets"));
    return nullptr;
}

void register_counters() {
    using Descriptor = CounterSampleBufferDescriptor;
    objc::define_class<Descriptor>(
        "MTLCounterSampleBufferDescriptor",
        {
            objc::allocatable<Descriptor>(),
            objc::property<&Descriptor::set>("counterSet", "setCounterSet:"),
            objc::copied_property<&Descriptor::label>("label", "setLabel:"),
            objc::property<&Descriptor::storage>("storageMode", "setStorageMode:"),
            objc::property<&Descriptor::sample_count>("sampleCount", "setSampleCount:"),
            objc::method<&copy>("copy"),
        });
}

}  // namespace softmetal::api
