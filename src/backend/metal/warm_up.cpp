#include "backend/metal/warm_up.h"

#include <algorithm>

#include "backend/metal/context.h"
#include "backend/metal/kernels/warm_up.h"
#include "base/mapped_file.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kThreads = 256;

}  // namespace

Result<WarmUpKernels> WarmUpKernels::build(const Device& device) {
    WarmUpKernels kernels;
    kernels.read = MINFER_TRY(device.pipeline("warm_up_read", kThreads));
    return kernels;
}

Launch plan_warm_up(size_t pages) {
    return {.groups = {.x = static_cast<uint32_t>(ceil_div(pages, size_t{kThreads}))},
            .threads = {.x = kThreads}};
}

std::vector<std::vector<Slice>> plan_warm_up_submissions(std::span<const Slice> wrapped,
                                                         size_t max_pages) {
    auto submissions = std::vector<std::vector<Slice>>();
    size_t room = 0;  // pages left in the last submission
    for (const auto& slice : wrapped) {
        const auto pages = slice.bytes / kMetalPage;
        for (size_t first = 0; first < pages;) {
            if (room == 0) {
                submissions.emplace_back();
                room = max_pages;
            }
            const auto count = std::min(room, pages - first);
            submissions.back().push_back(slice.part(first * kMetalPage, count * kMetalPage));
            first += count;
            room -= count;
        }
    }
    return submissions;
}

Result<> warm_up(Context& context, std::span<const Slice> wrapped) {
    const auto words = size_t{plan_warm_up(kWarmUpPages).groups.x} * kThreads / kSimdWidth;
    const auto submissions = plan_warm_up_submissions(wrapped, kWarmUpPages);
    if (submissions.empty()) return {};
    const auto sums = MINFER_TRY(context.device->new_buffer(words * sizeof(uint32_t)));
    for (const auto& parts : submissions) {
        for (const auto& part : parts) {
            const auto pages = MINFER_TRY(to_u32("pages", part.bytes / kMetalPage));
            MINFER_TRY(context.dispatch(
                context.kernels.warm_up.read, plan_warm_up(pages),
                {part, Slice{.buffer = sums.get(), .bytes = words * sizeof(uint32_t)}},
                WarmUpArgs{.page_bytes = kMetalPage, .pages = pages}));
        }
        MINFER_TRY(context.submit());
    }
    return {};
}

}  // namespace minfer::metal
