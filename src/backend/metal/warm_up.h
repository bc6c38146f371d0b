#pragma once
// The first touch of wrapped pages by the GPU costs tens of milliseconds: paid at load.

#include <span>
#include <vector>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"

namespace minfer::metal {

struct Context;

struct WarmUpKernels {
    Pipeline read;
    static Result<WarmUpKernels> build(const Device& device);
};

Launch plan_warm_up(size_t pages);

// What one command buffer touches, 1 GiB: pages come from a disk here, and the bound of a
// submission is to hold for each of these and not for a whole file.
constexpr size_t kWarmUpPages = size_t{1} << 16;

// The wrapped pages in order, those of each command buffer together: `max_pages` (> 0) in all but
// the last. Pure.
std::vector<std::vector<Slice>> plan_warm_up_submissions(std::span<const Slice> wrapped,
                                                         size_t max_pages);

// Reads one byte of each page of the buffers and waits for it, kWarmUpPages at a time.
Result<> warm_up(Context& context, std::span<const Slice> wrapped);

}  // namespace minfer::metal
