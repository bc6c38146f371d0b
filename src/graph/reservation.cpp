#include "graph/reservation.h"

#include <algorithm>
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

std::vector<Reservation::Pick> Reservation::pick(std::span<const Slot> slots) {
    std::ranges::sort(buffers_, {}, [](const Buffer& buffer) {
        return std::tuple(buffer.bytes, buffer.backend->id(), buffer.id);
    });
    auto picks = std::vector<Pick>(slots.size());
    for (size_t slot = 0; slot < slots.size(); ++slot) picks[slot].slot = slot;
    std::ranges::sort(picks, {},
                      [&](const Pick& p) { return std::pair(~slots[p.slot].bytes, p.slot); });

    auto taken = std::vector<bool>(buffers_.size(), false);
    for (auto& [slot, buffer] : picks) {
        size_t b = 0;
        while (b < taken.size() && (taken[b] || buffers_[b].bytes < slots[slot].bytes ||
                                    buffers_[b].backend->id() != slots[slot].backend))
            ++b;
        if (b == taken.size()) continue;
        taken[b] = true;
        buffer = b;
    }
    return picks;
}

size_t Reservation::missing_bytes(std::span<const Slot> slots, BackendId backend) {
    size_t bytes = 0;
    for (const auto& [slot, buffer] : pick(slots))
        if (!buffer && slots[slot].backend == backend) bytes += slots[slot].bytes;
    return bytes;
}

Result<std::vector<BufferId>> Reservation::map(std::span<const Slot> slots,
                                               std::span<Backend* const> backends) {
    auto ids = std::vector<BufferId>(slots.size());
    for (const auto& [slot, buffer] : pick(slots)) {
        if (buffer) {
            ids[slot] = buffers_[*buffer].id;
            continue;
        }
        auto* const backend = find_backend(backends, slots[slot].backend);
        MINFER_ASSERT(backend != nullptr);
        ids[slot] = MINFER_TRY(backend->alloc(slots[slot].bytes));
        // Behind the ones that were there before this call, which were picked from.
        buffers_.push_back({.backend = backend, .id = ids[slot], .bytes = slots[slot].bytes});
    }
    return ids;
}

}  // namespace minfer
