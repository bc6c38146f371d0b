#include "softmetal/api/blit_encoder.h"

#include <fmt/format.h>

#include "softmetal/api/buffer.h"
#include "softmetal/api/fence.h"
#include "softmetal/objc/define_class.h"

namespace softmetal::api {

bool BlitEncoder::covers(const char* call, Buffer* used, uint64_t offset, uint64_t bytes) {
    if (used == nullptr) {
        misuse(fmt::format("{}: a buffer is nil", call));
        return false;
    }
    if (!is_of_this_device(call, used->device.get())) return false;
    const uint64_t length = used->length();
    if (offset <= length && bytes <= length - offset) return true;
    misuse(fmt::format("{}: {} bytes from offset {} on do not fit {}, which has {} bytes", call,
                       bytes, offset, used->memory->described(), length));
    return false;
}

void BlitEncoder::copy(Buffer* from, NS::UInteger from_offset, Buffer* to, NS::UInteger to_offset,
                       NS::UInteger bytes) {
    constexpr const char* kCall = "copyFromBuffer";
    if (!is_open(kCall)) return;
    if (!covers(kCall, from, from_offset, bytes) || !covers(kCall, to, to_offset, bytes)) return;
    if (from == to && from_offset < to_offset + bytes && to_offset < from_offset + bytes) {
        return misuse(fmt::format(
            "copyFromBuffer: source [{}, {}) and destination [{}, {}) overlap in {}", from_offset,
            from_offset + bytes, to_offset, to_offset + bytes, from->memory->described()));
    }
    buffer->add(CopyBuffer{.from = hold(from),
                           .from_offset = from_offset,
                           .to = hold(to),
                           .to_offset = to_offset,
                           .bytes = bytes});
}

void BlitEncoder::fill(Buffer* used, NS::Range range, uint8_t value) {
    constexpr const char* kCall = "fillBuffer";
    if (!is_open(kCall) || !covers(kCall, used, range.location, range.length)) return;
    if (range.length == 0 && is_checked()) return misuse("fillBuffer: the range is empty");
    buffer->add(FillBuffer{
        .memory = hold(used), .offset = range.location, .bytes = range.length, .value = value});
}

void BlitEncoder::synchronize(Object* resource) {
    if (!is_open("synchronizeResource")) return;
    auto* used = objc::as<Buffer>(resource);
    if (used == nullptr) return misuse("synchronizeResource: not a buffer");
    if (!used->host_copy) {
        if (is_checked()) {
            misuse(fmt::format("synchronizeResource: {} does not have managed storage",
                               used->memory->described()));
        }
        return;
    }
    buffer->hold(used->host_copy, nullptr);
    buffer->add(SynchronizeBuffer{.device = hold(used), .host = used->host_copy.get()});
}

BlitEncoder* blit_encoder(CommandBuffer* buffer) {
    if (!buffer->may_encode("blitCommandEncoder")) return nullptr;
    return objc::autoreleased(objc::make<BlitEncoder>(objc::Ref<CommandBuffer>::retaining(buffer)));
}

BlitEncoder* blit_encoder_with_descriptor(CommandBuffer* buffer, BlitPassDescriptor*) {
    return blit_encoder(buffer);
}

void register_blit_encoder() {
    using objc::method;
    objc::define_class<BlitPassDescriptor>(
        "MTLBlitPassDescriptor",
        {
            objc::allocatable<BlitPassDescriptor>(),
            objc::class_method<+[] {
                return objc::autoreleased(objc::make<BlitPassDescriptor>());
            }>("blitPassDescriptor"),
            method<+[](BlitPassDescriptor*) { return objc::make<BlitPassDescriptor>().leak(); }>(
                "copy"),
        });
    objc::define_class<BlitEncoder, Encoder>(
        "MTLBlitCommandEncoder",
        {
            method<&BlitEncoder::copy>(
                "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"),
            method<&BlitEncoder::fill>("fillBuffer:range:value:"),
            method<&BlitEncoder::synchronize>("synchronizeResource:"),
            method<&update_fence>("updateFence:"),
            method<&wait_for_fence>("waitForFence:"),
        });
}

}  // namespace softmetal::api
