#include "softmetal/api/buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "softmetal/api/in_flight.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {

ResourceMode ResourceMode::of(MTL::ResourceOptions options) {
    return {.cache = static_cast<MTL::CPUCacheMode>(options & 0xf),
            .storage = static_cast<MTL::StorageMode>(options >> 4 & 0xf),
            .tracking = static_cast<MTL::HazardTrackingMode>(options >> 8 & 0x3)};
}

MTL::ResourceOptions ResourceMode::options() const {
    return static_cast<NS::UInteger>(cache) | static_cast<NS::UInteger>(storage) << 4 |
           static_cast<NS::UInteger>(tracking) << 8;
}

Buffer::Buffer(objc::Ref<Device> on, ResourceMode with, std::shared_ptr<Allocation> bytes,
               std::shared_ptr<Allocation> copy, Origin from)
    : device(std::move(on)),
      mode(with),
      memory(std::move(bytes)),
      host_copy(std::move(copy)),
      origin(std::move(from)) {}

Buffer::~Buffer() {
    memory->released = true;
    device->discharge(origin.charged);
    if (origin.deallocator) origin.deallocator(memory->device(), memory->length());
}

void* Buffer::contents() const { return host_copy ? host_copy->host() : memory->host(); }

namespace {

objc::Ref<Buffer> make_buffer(Device* device, uint64_t length, MTL::ResourceOptions options) {
    const auto mode = ResourceMode::of(options);
    if (length == 0 || length > device->limits.max_buffer_bytes) return nullptr;
    if (mode.storage > MTL::StorageModePrivate) return nullptr;  // memoryless is for textures
    const uint64_t charged = whole_pages(length);
    if (!device->charge(charged)) return nullptr;

    const bool is_shared = mode.storage == MTL::StorageModeShared;
    auto memory = device->allocate(length, is_shared ? HostView::Mapped : HostView::None);
    std::shared_ptr<Allocation> host_copy;
    if (memory && mode.storage == MTL::StorageModeManaged) {
        auto copy = device->allocate(length, HostView::Mapped);
        if (copy) host_copy = *std::move(copy);
    }
    if (!memory || (mode.storage == MTL::StorageModeManaged && !host_copy)) {
        device->discharge(charged);
        return nullptr;
    }
    auto origin = Buffer::Origin{};
    origin.charged = charged;
    return objc::make<Buffer>(objc::Ref<Device>::retaining(device), mode, *std::move(memory),
                              std::move(host_copy), std::move(origin));
}

// Both sides of managed storage start equal.
void fill(Buffer& buffer, const void* bytes) {
    std::memcpy(buffer.memory->device(), bytes, buffer.length());
    if (buffer.host_copy) std::memcpy(buffer.host_copy->device(), bytes, buffer.length());
}

// The host says what it wrote to its copy of managed storage. Elsewhere there is nothing to say.
void did_modify_range(Buffer* buffer, NS::Range range) {
    if (!buffer->host_copy) return;
    const uint64_t length = buffer->length();
    const uint64_t begin = std::min<uint64_t>(range.location, length);
    const uint64_t end = begin + std::min<uint64_t>(range.length, length - begin);
    note_host_access(*buffer->memory, begin, end, /*wrote=*/true);
    std::memcpy(buffer->memory->device() + begin, buffer->host_copy->device() + begin, end - begin);
}

MTL::PurgeableState set_purgeable_state(Buffer* buffer, MTL::PurgeableState state) {
    const auto before = buffer->purgeable;
    if (state == MTL::PurgeableStateKeepCurrent) return before;
    buffer->purgeable = state;
    // What is purgeable may be gone at any time; here it goes when the program lets it go.
    if (state == MTL::PurgeableStateEmpty && !buffer->memory->is_wrapped()) {
        std::memset(buffer->memory->device(), 0, buffer->length());
    }
    return before;
}

void set_label(Buffer* buffer, objc::Object* label) {
    buffer->label = objc::copy_of(label);
    buffer->memory->set_label(std::string(objc::text_of(label)));
    if (buffer->host_copy) buffer->host_copy->set_label(std::string(objc::text_of(label)));
}

}  // namespace

Buffer* new_buffer(Device* device, NS::UInteger length, MTL::ResourceOptions options) {
    return make_buffer(device, length, options).leak();
}

Buffer* new_buffer_with_bytes(Device* device, const void* bytes, NS::UInteger length,
                              MTL::ResourceOptions options) {
    if (bytes == nullptr) return nullptr;
    auto buffer = make_buffer(device, length, options);
    if (buffer) fill(*buffer, bytes);
    return buffer.leak();
}

Buffer* new_buffer_no_copy(Device* device, void* memory, NS::UInteger length,
                           MTL::ResourceOptions options, void (^deallocator)(void*, NS::UInteger)) {
    const auto mode = ResourceMode::of(options);
    const bool on_pages =
        reinterpret_cast<uintptr_t>(memory) % kPageBytes == 0 && length % kPageBytes == 0;
    if (memory == nullptr || length == 0 || !on_pages) return nullptr;
    if (mode.storage != MTL::StorageModeShared && mode.storage != MTL::StorageModeManaged) {
        return nullptr;
    }
    if (length > device->limits.max_buffer_bytes || !device->charge(length)) return nullptr;
    auto origin = Buffer::Origin{};
    origin.charged = length;
    origin.deallocator = Buffer::Deallocator(deallocator);
    return objc::make<Buffer>(objc::Ref<Device>::retaining(device), mode,
                              Allocation::wrap(memory, length), nullptr, std::move(origin))
        .leak();
}

void register_buffer() {
    using objc::method;
    objc::define_class<Buffer>(
        "MTLBuffer",
        {
            method<&Buffer::contents>("contents"),
            method<+[](Buffer* b) -> NS::UInteger { return b->length(); }>("length"),
            method<+[](Buffer* b) { return reinterpret_cast<uint64_t>(b->memory->device()); }>(
                "gpuAddress"),
            method<&did_modify_range>("didModifyRange:"),
            method<+[](Buffer* b) -> NS::UInteger { return b->memory->size(); }>("allocatedSize"),
            method<+[](Buffer* b) { return b->device.get(); }>("device"),
            method<+[](Buffer* b) { return b->label.get(); }>("label"),
            method<&set_label>("setLabel:"),
            method<+[](Buffer* b) { return b->mode.storage; }>("storageMode"),
            method<+[](Buffer* b) { return b->mode.cache; }>("cpuCacheMode"),
            method<+[](Buffer* b) {
                return b->mode.tracking != MTL::HazardTrackingModeDefault ? b->mode.tracking
                       : b->origin.heap ? MTL::HazardTrackingModeUntracked
                                        : MTL::HazardTrackingModeTracked;
            }>("hazardTrackingMode"),
            method<+[](Buffer* b) { return b->mode.options(); }>("resourceOptions"),
            method<&set_purgeable_state>("setPurgeableState:"),
            method<+[](Buffer* b) { b->place.reset(); }>("makeAliasable"),
            method<+[](Buffer* b) { return b->origin.heap && !b->place; }>("isAliasable"),
            method<+[](Buffer* b) { return b->origin.heap.get(); }>("heap"),
            method<+[](Buffer* b) -> NS::UInteger { return b->origin.heap_offset; }>("heapOffset"),
            method<+[](Buffer*) { return MTL::BufferSparseTierNone; }>("sparseBufferTier"),
        });
}

}  // namespace softmetal::api
