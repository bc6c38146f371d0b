#include "softmetal/api/residency_set.h"

#include <algorithm>
#include <utility>

#include "softmetal/api/buffer.h"
#include "softmetal/api/heap.h"
#include "softmetal/objc/define_class.h"

namespace softmetal::api {

ResidencySet::ResidencySet(objc::Ref<Device> on, objc::Ref<Object> text)
    : device(std::move(on)), label(std::move(text)) {}

void ResidencySet::add(Object* allocation) {
    if (!memory_of(allocation))
        objc::stop("-[MTLResidencySet addAllocation:]: %s is no allocation",
                   allocation ? objc::class_name(allocation) : "nil");
    const auto lock = MutexLock(mutex_);
    if (std::ranges::find(listed_, allocation, &objc::Ref<Object>::get) != listed_.end()) return;
    listed_.push_back(objc::Ref<Object>::retaining(allocation));
}

void ResidencySet::remove(Object* allocation) {
    const auto lock = MutexLock(mutex_);
    std::erase_if(listed_, [&](const auto& listed) { return listed.get() == allocation; });
}

void ResidencySet::remove_all() {
    const auto lock = MutexLock(mutex_);
    listed_.clear();
}

void ResidencySet::commit() {
    const auto lock = MutexLock(mutex_);
    committed_ = listed_;
}

bool ResidencySet::contains(Object* allocation) {
    const auto lock = MutexLock(mutex_);
    return std::ranges::find(listed_, allocation, &objc::Ref<Object>::get) != listed_.end();
}

objc::Ref<objc::Array> ResidencySet::all() {
    const auto lock = MutexLock(mutex_);
    return objc::make_array(listed_);
}

NS::UInteger ResidencySet::count() {
    const auto lock = MutexLock(mutex_);
    return listed_.size();
}

uint64_t ResidencySet::committed_bytes() {
    uint64_t bytes = 0;
    for (const auto& allocation : committed()) bytes += (*memory_of(allocation.get()))->size();
    return bytes;
}

std::vector<objc::Ref<objc::Object>> ResidencySet::committed() {
    const auto lock = MutexLock(mutex_);
    return committed_;
}

const std::shared_ptr<Allocation>* memory_of(objc::Object* allocation) {
    if (const auto* buffer = objc::as<Buffer>(allocation)) return &buffer->memory;
    if (const auto* heap = objc::as<Heap>(allocation)) return &heap->memory;
    return nullptr;
}

ResidencySet* new_residency_set(Device* device, ResidencySetDescriptor* descriptor,
                                objc::Object**) {
    if (descriptor == nullptr) objc::stop("newResidencySetWithDescriptor: with a nil descriptor");
    return objc::make<ResidencySet>(objc::Ref<Device>::retaining(device),
                                    objc::copy_of(descriptor->label.get()))
        .leak();
}

namespace {

ResidencySetDescriptor* copy(ResidencySetDescriptor* from) {
    auto made = objc::make<ResidencySetDescriptor>();
    made->label = from->label;
    made->initial_capacity = from->initial_capacity;
    return made.leak();
}

void add_all(ResidencySet* set, objc::Object* const* allocations, NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) set->add(allocations[i]);
}
void remove_each(ResidencySet* set, objc::Object* const* allocations, NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) set->remove(allocations[i]);
}

// A request to be resident is met by nature.
void nothing_to_do(ResidencySet*) {}

}  // namespace

void register_residency_set() {
    using objc::method;
    using Descriptor = ResidencySetDescriptor;
    objc::define_class<Descriptor>(
        "MTLResidencySetDescriptor",
        {
            objc::allocatable<Descriptor>(),
            objc::copied_property<&Descriptor::label>("label", "setLabel:"),
            objc::property<&Descriptor::initial_capacity>("initialCapacity", "setInitialCapacity:"),
            method<&copy>("copy"),
        });
    objc::define_class<ResidencySet>(
        "MTLResidencySet",
        {
            method<+[](ResidencySet* s) { return s->device.get(); }>("device"),
            method<+[](ResidencySet* s) { return s->label.get(); }>("label"),
            method<&ResidencySet::add>("addAllocation:"),
            method<&add_all>("addAllocations:count:"),
            method<&ResidencySet::remove>("removeAllocation:"),
            method<&remove_each>("removeAllocations:count:"),
            method<&ResidencySet::remove_all>("removeAllAllocations"),
            method<&ResidencySet::commit>("commit"),
            method<&ResidencySet::contains>("containsAllocation:"),
            method<+[](ResidencySet* s) { return objc::autoreleased(s->all()); }>("allAllocations"),
            method<&ResidencySet::count>("allocationCount"),
            method<&ResidencySet::committed_bytes>("allocatedSize"),
            method<&nothing_to_do>("requestResidency"),
            method<&nothing_to_do>("endResidency"),
        });
}

}  // namespace softmetal::api
