#include "softmetal/api/heap.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {
namespace {

constexpr uint64_t aligned(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

// A buffer's part of a heap, given back when the last owner of this goes.
template <class GiveBack>
std::shared_ptr<void> place(GiveBack give_back) {
    struct Place {
        GiveBack give_back;
        ~Place() { give_back(); }
    };
    return std::make_shared<Place>(std::move(give_back));
}

}  // namespace

// ---- Space --------------------------------------------------------------------------------------

HeapSpace::HeapSpace(uint64_t bytes) : gaps_({{0, bytes}}) {}

uint64_t HeapSpace::take(uint64_t bytes, uint64_t alignment) {
    const auto lock = MutexLock(mutex_);
    for (const auto [offset, width] : gaps_) {
        const uint64_t begin = aligned(offset, alignment);
        if (begin - offset > width || width - (begin - offset) < bytes) continue;
        gaps_.erase(offset);
        if (begin > offset) gaps_.emplace(offset, begin - offset);
        const uint64_t rest = offset + width - (begin + bytes);
        if (rest > 0) gaps_.emplace(begin + bytes, rest);
        used_ += bytes;
        return begin;
    }
    return kNone;
}

void HeapSpace::give(uint64_t offset, uint64_t bytes) {
    const auto lock = MutexLock(mutex_);
    used_ -= bytes;
    auto at = gaps_.emplace(offset, bytes).first;
    if (const auto next = std::next(at); next != gaps_.end() && offset + bytes == next->first) {
        at->second += next->second;
        gaps_.erase(next);
    }
    if (at == gaps_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second != at->first) return;
    before->second += at->second;
    gaps_.erase(at);
}

void HeapSpace::take_at(uint64_t bytes) {
    const auto lock = MutexLock(mutex_);
    used_ += bytes;
}

void HeapSpace::give_back(uint64_t bytes) {
    const auto lock = MutexLock(mutex_);
    used_ -= bytes;
}

uint64_t HeapSpace::used() const {
    const auto lock = MutexLock(mutex_);
    return used_;
}

uint64_t HeapSpace::widest_gap(uint64_t alignment) const {
    const auto lock = MutexLock(mutex_);
    uint64_t widest = 0;
    for (const auto& [offset, width] : gaps_) {
        const uint64_t lost = aligned(offset, alignment) - offset;
        if (lost < width) widest = std::max(widest, width - lost);
    }
    return widest;
}

// ---- Heap ---------------------------------------------------------------------------------------

Heap::Heap(objc::Ref<Device> on, MTL::HeapType of_type, ResourceMode with,
           std::shared_ptr<Allocation> bytes)
    : device(std::move(on)),
      type(of_type),
      mode(with),
      memory(std::move(bytes)),
      space(std::make_shared<HeapSpace>(memory->size())) {}

Heap::~Heap() {
    memory->released = true;
    device->discharge(memory->size());
}

Heap* new_heap(Device* device, HeapDescriptor* descriptor) {
    if (descriptor == nullptr || descriptor->size == 0) return nullptr;
    if (descriptor->type == MTL::HeapTypeSparse)
        return nullptr;  // as a device without sparse memory
    const bool is_shared = descriptor->mode.storage == MTL::StorageModeShared;
    if (!is_shared && descriptor->mode.storage != MTL::StorageModePrivate) return nullptr;
    const uint64_t size = whole_pages(descriptor->size);
    if (size < descriptor->size || !device->charge(size)) return nullptr;
    auto memory = device->allocate(size, is_shared ? HostView::Mapped : HostView::None);
    if (!memory) {
        device->discharge(size);
        return nullptr;
    }
    return objc::make<Heap>(objc::Ref<Device>::retaining(device), descriptor->type,
                            descriptor->mode, *std::move(memory))
        .leak();
}

bool Heap::may_hold(NS::UInteger length, MTL::ResourceOptions options) const {
    const auto asked = ResourceMode::of(options);
    return length > 0 && length <= device->limits.max_buffer_bytes &&
           asked.storage == mode.storage && asked.cache == mode.cache;
}

Buffer* Heap::cut(uint64_t offset, uint64_t length, std::shared_ptr<void> where) {
    auto origin = Buffer::Origin{};
    origin.heap = objc::Ref<Object>::retaining(this);
    origin.heap_offset = offset;
    auto buffer = objc::make<Buffer>(device, mode, Allocation::slice(memory, offset, length),
                                     nullptr, std::move(origin));
    buffer->place = std::move(where);
    return buffer.leak();
}

Buffer* Heap::new_buffer(NS::UInteger length, MTL::ResourceOptions options) {
    if (type != MTL::HeapTypeAutomatic || !may_hold(length, options)) return nullptr;
    const uint64_t bytes = whole_pages(length);
    const uint64_t offset = space->take(bytes, kPageBytes);
    if (offset == HeapSpace::kNone) return nullptr;
    return cut(offset, length,
               place([space = space, offset, bytes] { space->give(offset, bytes); }));
}

// The program decides what lies where, and may put one buffer over another.
Buffer* Heap::new_buffer_at(NS::UInteger length, MTL::ResourceOptions options,
                            NS::UInteger offset) {
    if (type != MTL::HeapTypePlacement || !may_hold(length, options)) return nullptr;
    const uint64_t bytes = whole_pages(length);
    if (offset % kPageBytes != 0 || offset > memory->size() || bytes > memory->size() - offset) {
        return nullptr;
    }
    space->take_at(bytes);
    return cut(offset, length, place([space = space, bytes] { space->give_back(bytes); }));
}

void Heap::set_label(Object* text) {
    label = objc::copy_of(text);
    memory->set_label(std::string(objc::text_of(text)));
}

MTL::PurgeableState Heap::set_purgeable(MTL::PurgeableState state) {
    const auto before = purgeable_;
    if (state == MTL::PurgeableStateKeepCurrent) return before;
    purgeable_ = state;
    // What is purgeable may be gone at any time; here it goes when the program lets it go.
    if (state == MTL::PurgeableStateEmpty) std::memset(memory->device(), 0, memory->size());
    return before;
}

namespace {

using Descriptor = HeapDescriptor;

HeapDescriptor* copy(HeapDescriptor* from) {
    auto made = objc::make<HeapDescriptor>();
    made->size = from->size;
    made->type = from->type;
    made->mode = from->mode;
    return made.leak();
}

// Buffers in a heap are not tracked unless the heap says so.
MTL::HazardTrackingMode tracking(const Heap* heap) {
    return heap->mode.tracking == MTL::HazardTrackingModeTracked ? MTL::HazardTrackingModeTracked
                                                                 : MTL::HazardTrackingModeUntracked;
}

NS::UInteger max_available(Heap* heap, NS::UInteger alignment) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        objc::stop("-[MTLHeap maxAvailableSizeWithAlignment:]: %zu is no power of two", alignment);
    }
    return heap->space->widest_gap(std::max<uint64_t>(alignment, kPageBytes));
}

}  // namespace

void register_heap() {
    using objc::method;
    objc::define_class<HeapDescriptor>(
        "MTLHeapDescriptor",
        {
            objc::allocatable<HeapDescriptor>(),
            objc::property<&Descriptor::size>("size", "setSize:"),
            objc::property<&Descriptor::type>("type", "setType:"),
            method<+[](Descriptor* d) { return d->mode.storage; }>("storageMode"),
            method<+[](Descriptor* d, MTL::StorageMode m) { d->mode.storage = m; }>(
                "setStorageMode:"),
            method<+[](Descriptor* d) { return d->mode.cache; }>("cpuCacheMode"),
            method<+[](Descriptor* d, MTL::CPUCacheMode m) { d->mode.cache = m; }>(
                "setCpuCacheMode:"),
            method<+[](Descriptor* d) { return d->mode.tracking; }>("hazardTrackingMode"),
            method<+[](Descriptor* d, MTL::HazardTrackingMode m) { d->mode.tracking = m; }>(
                "setHazardTrackingMode:"),
            method<+[](Descriptor* d) { return d->mode.options(); }>("resourceOptions"),
            method<+[](Descriptor* d, MTL::ResourceOptions o) { d->mode = ResourceMode::of(o); }>(
                "setResourceOptions:"),
            method<&copy>("copy"),
        });
    objc::define_class<Heap>(
        "MTLHeap",
        {
            method<+[](Heap* h) { return h->device.get(); }>("device"),
            objc::property<&Heap::label>("label"),
            method<&Heap::set_label>("setLabel:"),
            method<+[](Heap* h) { return h->type; }>("type"),
            method<+[](Heap* h) -> NS::UInteger { return h->memory->size(); }>("size"),
            method<+[](Heap* h) -> NS::UInteger { return h->memory->size(); }>(
                "currentAllocatedSize"),
            method<+[](Heap* h) -> NS::UInteger { return h->memory->size(); }>("allocatedSize"),
            method<+[](Heap* h) -> NS::UInteger { return h->space->used(); }>("usedSize"),
            method<&max_available>("maxAvailableSizeWithAlignment:"),
            method<+[](Heap* h) { return h->mode.storage; }>("storageMode"),
            method<+[](Heap* h) { return h->mode.cache; }>("cpuCacheMode"),
            method<+[](Heap* h) { return tracking(h); }>("hazardTrackingMode"),
            method<+[](Heap* h) { return h->mode.options(); }>("resourceOptions"),
            method<&Heap::set_purgeable>("setPurgeableState:"),
            method<&Heap::new_buffer>("newBufferWithLength:options:"),
            method<&Heap::new_buffer_at>("newBufferWithLength:options:offset:"),
        });
}

}  // namespace softmetal::api
