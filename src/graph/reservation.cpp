#include "graph/reservation.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace minfer {

Backend* find_backend(std::span<Backend* const> backends, BackendId id) {
    const auto found = std::ranges::find(backends, id, &Backend::id);
    return found == backends.end() ? nullptr : *found;
}

Reservation::~Reservation() {
    for (const auto& buffer : buffers_) buffer.backend->free(buffer.id);
}

Result<std::vector<BufferId>> Reservation::map(std::span<const Slot> slots,
                                               std::span<Backend* const> backends) {
    std::ranges::sort(buffers_, {}, [](const Buffer& buffer) {
        return std::tuple(buffer.bytes, buffer.backend->id(), buffer.id);
    });
    auto order = std::vector<size_t>(slots.size());
    std::iota(order.begin(), order.end(), size_t{0});
    // Largest first, then by index.
    std::ranges::sort(order, {}, [&](size_t i) { return std::pair(~slots[i].bytes, i); });

    auto ids = std::vector<BufferId>(slots.size());
    auto taken = std::vector<bool>(buffers_.size(), false);
    for (const size_t slot : order) {
        size_t b = 0;
        while (b < taken.size() && (taken[b] || buffers_[b].bytes < slots[slot].bytes ||
                                    buffers_[b].backend->id() != slots[slot].backend))
            ++b;
        if (b < taken.size()) {
            taken[b] = true;
            ids[slot] = buffers_[b].id;
            continue;
        }
        auto* const backend = find_backend(backends, slots[slot].backend);
        MINFER_ASSERT(backend != nullptr);
        const auto id = MINFER_TRY(backend->alloc(slots[slot].bytes));
        ids[slot] = id;
        // Behind the ones that were there before this call, which `taken` counts.
        buffers_.push_back({.backend = backend, .id = id, .bytes = slots[slot].bytes});
    }
    return ids;
}

}  // namespace minfer
