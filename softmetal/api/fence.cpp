#include "softmetal/api/fence.h"

#include <utility>

#include "softmetal/api/encoder.h"
#include "softmetal/objc/define_class.h"

namespace softmetal::api {

FenceObject::FenceObject(objc::Ref<Device> on) : device(std::move(on)) {}

FenceObject* new_fence(Device* device) {
    return objc::make<FenceObject>(objc::Ref<Device>::retaining(device)).leak();
}

void update_fence(Encoder* encoder, FenceObject* fence) {
    if (!encoder->is_open("updateFence")) return;
    if (fence == nullptr) return encoder->misuse("updateFence: the fence is nil");
    encoder->buffer->add(UpdateFence{.fence = fence->fence});
}

void wait_for_fence(Encoder* encoder, FenceObject* fence) {
    if (!encoder->is_open("waitForFence")) return;
    if (fence == nullptr) return encoder->misuse("waitForFence: the fence is nil");
    encoder->buffer->add(WaitForFence{.fence = fence->fence});
}

void register_fence() {
    objc::define_class<FenceObject>(
        "MTLFence", {
                        objc::method<+[](FenceObject* f) { return f->device.get(); }>("device"),
                        objc::copied_property<&FenceObject::label>("label", "setLabel:"),
                    });
}

}  // namespace softmetal::api
