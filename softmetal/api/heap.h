// MTLHeap: memory taken from the device in one piece, which buffers are then cut from. The whole
// counts as allocated from the start; its buffers count nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include <Metal/MTLHeap.hpp>

#include "softmetal/api/buffer.h"
#include "softmetal/api/device.h"
#include "softmetal/api/memory.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct HeapDescriptor : objc::Object {
    NS::UInteger size = 0;
    MTL::HeapType type = MTL::HeapTypeAutomatic;
    ResourceMode mode = {.storage = MTL::StorageModePrivate};
};

// Which parts of a heap are in use. Shared with the heap's buffers, which give their part back.
class HeapSpace {
  public:
    explicit HeapSpace(uint64_t bytes);

    static constexpr uint64_t kNone = ~uint64_t{0};
    uint64_t take(uint64_t bytes, uint64_t alignment);  // kNone: no gap is wide enough
    void take_at(uint64_t bytes);                       // a placement heap only counts
    void give(uint64_t offset, uint64_t bytes);         // what take() gave
    void give_back(uint64_t bytes);                     // what take_at() counted
    uint64_t used() const;
    uint64_t widest_gap(uint64_t alignment) const;

  private:
    mutable Mutex mutex_;
    std::map<uint64_t, uint64_t> gaps_ SOFTMETAL_GUARDED_BY(mutex_);  // offset -> bytes
    uint64_t used_ SOFTMETAL_GUARDED_BY(mutex_) = 0;
};

struct Heap : objc::Object {
    Heap(objc::Ref<Device> device, MTL::HeapType type, ResourceMode mode,
         std::shared_ptr<Allocation> memory);
    ~Heap();

    Buffer* new_buffer(NS::UInteger length, MTL::ResourceOptions options);
    Buffer* new_buffer_at(NS::UInteger length, MTL::ResourceOptions options, NS::UInteger offset);
    void set_label(Object* text);
    MTL::PurgeableState set_purgeable(MTL::PurgeableState state);

    const objc::Ref<Device> device;
    const MTL::HeapType type;
    const ResourceMode mode;
    const std::shared_ptr<Allocation> memory;
    const std::shared_ptr<HeapSpace> space;
    objc::Ref<Object> label;

  private:
    bool may_hold(NS::UInteger length, MTL::ResourceOptions options) const;
    Buffer* cut(uint64_t offset, uint64_t length, std::shared_ptr<void> place);

    MTL::PurgeableState purgeable_ = MTL::PurgeableStateNonVolatile;
};

// A method of MTLDevice. Null where Metal gives nil: no size, past a limit, sparse or not for
// heaps.
Heap* new_heap(Device* device, HeapDescriptor* descriptor);

void register_heap();

}  // namespace softmetal::api
