// MTLResidencySet: memory that work may reach without binding it, kept by the program in one list
// that it attaches to queues or command buffers. All memory here is resident all the time; what the
// set decides is what a checked kernel may touch.
#pragma once

#include <vector>

#include <Metal/MTLResidencySet.hpp>

#include "softmetal/api/command.h"
#include "softmetal/api/device.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct ResidencySetDescriptor : objc::Object {
    objc::Ref<Object> label;
    NS::UInteger initial_capacity = 0;
};

struct ResidencySet : objc::Object {
    ResidencySet(objc::Ref<Device> device, objc::Ref<Object> label);

    // Changes show in the list at once, and in work after commit().
    void add(Object* allocation);
    void remove(Object* allocation);
    void remove_all();
    void commit();

    bool contains(Object* allocation);
    objc::Ref<objc::Array> all();
    NS::UInteger count();
    uint64_t committed_bytes();
    // What was committed: owners and their memory.
    std::vector<objc::Ref<Object>> committed();

    const objc::Ref<Device> device;
    const objc::Ref<Object> label;

  private:
    Mutex mutex_;
    std::vector<objc::Ref<Object>> listed_ SOFTMETAL_GUARDED_BY(mutex_);
    std::vector<objc::Ref<Object>> committed_ SOFTMETAL_GUARDED_BY(mutex_);
};

// The memory of an MTLAllocation (a buffer or a heap); null for anything else.
const std::shared_ptr<class Allocation>* memory_of(objc::Object* allocation);

// A method of MTLDevice.
ResidencySet* new_residency_set(Device* device, ResidencySetDescriptor* descriptor,
                                objc::Object** error);

void register_residency_set();

}  // namespace softmetal::api
