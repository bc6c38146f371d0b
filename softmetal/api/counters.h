// Hardware counters: a software device has none. It says so through Metal's own words: no counter
// sets, no sampling points, no sample buffers. What kernels did is counted by control.h instead.
#pragma once

#include <Metal/MTLCounters.hpp>
#include <Metal/MTLDevice.hpp>

#include "softmetal/api/device.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct CounterSampleBufferDescriptor : objc::Object {
    objc::Ref<Object> set;
    objc::Ref<Object> label;
    MTL::StorageMode storage = MTL::StorageModeManaged;
    NS::UInteger sample_count = 0;
};

// Methods of MTLDevice.
objc::Object* counter_sets(Device* device);
bool supports_counter_sampling(Device* device, MTL::CounterSamplingPoint point);
objc::Object* new_counter_sample_buffer(Device* device, CounterSampleBufferDescriptor* descriptor,
                                        objc::Object** error);

void register_counters();

}  // namespace softmetal::api
