// MTLFence: orders what two encoders of one queue do to memory that Metal does not track.
#pragma once

#include <memory>

#include <Metal/MTLFence.hpp>

#include "softmetal/api/command.h"
#include "softmetal/api/device.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct Encoder;

struct FenceObject : objc::Object {
    explicit FenceObject(objc::Ref<Device> device);

    const objc::Ref<Device> device;
    const std::shared_ptr<Fence> fence = std::make_shared<Fence>();
    objc::Ref<Object> label;
};

// A method of MTLDevice.
FenceObject* new_fence(Device* device);

// Methods of the encoders.
void update_fence(Encoder* encoder, FenceObject* fence);
void wait_for_fence(Encoder* encoder, FenceObject* fence);

void register_fence();

}  // namespace softmetal::api
