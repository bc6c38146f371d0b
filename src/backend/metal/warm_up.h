#pragma once
// The first touch of wrapped pages by the GPU costs tens of milliseconds: paid at load.

#include <span>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"

namespace minfer::metal {

struct Context;

struct WarmUpKernels {
    Pipeline read;
    static Result<WarmUpKernels> build(const Device& device);
};

Launch plan_warm_up(size_t pages);

// Reads one byte of each page of the buffers and waits for it.
Result<> warm_up(Context& context, std::span<const Slice> wrapped);

}  // namespace minfer::metal
