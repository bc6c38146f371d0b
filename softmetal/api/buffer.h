// MTLBuffer, and what MTLResource asks of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Metal/MTLBuffer.hpp>

#include "softmetal/api/device.h"
#include "softmetal/api/memory.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

// ResourceOptions taken apart.
struct ResourceMode {
    MTL::CPUCacheMode cache = MTL::CPUCacheModeDefaultCache;
    MTL::StorageMode storage = MTL::StorageModeShared;
    MTL::HazardTrackingMode tracking = MTL::HazardTrackingModeDefault;

    static ResourceMode of(MTL::ResourceOptions options);
    MTL::ResourceOptions options() const;
};

struct Buffer : objc::Object {
    using Deallocator = objc::Block<void(void*, NS::UInteger)>;

    // Where the memory comes from, for what MTLResource tells of it.
    struct Origin {
        uint64_t charged = 0;     // counted in currentAllocatedSize, and given back
        Deallocator deallocator;  // of memory that is the program's
        objc::Ref<Object> heap;
        uint64_t heap_offset = 0;
    };

    // `host_copy`: of managed storage, what contents() gives; null otherwise.
    Buffer(objc::Ref<Device> device, ResourceMode mode, std::shared_ptr<Allocation> memory,
           std::shared_ptr<Allocation> host_copy, Origin origin);
    ~Buffer();

    void* contents() const;
    uint64_t length() const { return memory->length(); }

    const objc::Ref<Device> device;
    const ResourceMode mode;
    const std::shared_ptr<Allocation> memory;
    const std::shared_ptr<Allocation> host_copy;
    const Origin origin;
    // Its part of a heap, until it goes or is made aliasable.
    std::shared_ptr<void> place;
    objc::Ref<Object> label;
    MTL::PurgeableState purgeable = MTL::PurgeableStateNonVolatile;
};

// Methods of MTLDevice. Null where Metal gives nil: no length, past a limit, no-copy memory that
// does not lie on whole pages.
Buffer* new_buffer(Device* device, NS::UInteger length, MTL::ResourceOptions options);
Buffer* new_buffer_with_bytes(Device* device, const void* bytes, NS::UInteger length,
                              MTL::ResourceOptions options);
Buffer* new_buffer_no_copy(Device* device, void* memory, NS::UInteger length,
                           MTL::ResourceOptions options, void (^deallocator)(void*, NS::UInteger));

void register_buffer();

}  // namespace softmetal::api
