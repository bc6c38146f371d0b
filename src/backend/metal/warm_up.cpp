#include "backend/metal/warm_up.h"

#include <algorithm>

#include "backend/metal/context.h"
#include "backend/metal/kernels/warm_up.h"
#include "base/mapped_file.h"

namespace minfer::metal {

constexpr uint32_t kThreads = 256;

Result<WarmUpKernels> WarmUpKernels::build(const Device& device) {
    WarmUpKernels kernels;
    kernels.read = MINFER_TRY(device.pipeline("warm_up_read"));
    return kernels;
}

Launch plan_warm_up(size_t pages) {
    return {.groups = {.x = static_cast<uint32_t>(ceil_div(pages, size_t{kThreads}))},
            .threads = {.x = kThreads}};
}

Result<> warm_up(Context& context, std::span<const Slice> wrapped) {
    if (wrapped.empty()) return {};
    const auto largest = std::ranges::max(wrapped, {}, &Slice::bytes).bytes / kMetalPage;
    const auto words = size_t{plan_warm_up(largest).groups.x} * kThreads / kSimdWidth;
    const auto sums = MINFER_TRY(context.device->new_buffer(words * sizeof(uint32_t)));
    for (const auto& slice : wrapped) {
        const auto pages = slice.bytes / kMetalPage;
        MINFER_TRY(context.dispatch(
            context.kernels.warm_up.read, plan_warm_up(pages),
            {slice, Slice{.buffer = sums.get(), .bytes = words * sizeof(uint32_t)}},
            WarmUpArgs{.page_bytes = kMetalPage, .pages = static_cast<uint32_t>(pages)}));
    }
    return context.submit();
}

}  // namespace minfer::metal
