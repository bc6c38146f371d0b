#include "backend/metal/pool.h"

#include <utility>

namespace minfer::metal {

Result<BufferId> Pool::alloc(size_t bytes, bool fresh, size_t weights_bytes, size_t budget_bytes) {
    if (const auto idle = idle_.find(bytes); !fresh && idle != idle_.end()) {
        const auto id = idle->second.back();
        idle->second.pop_back();
        if (idle->second.empty()) idle_.erase(idle);
        entries_[std::to_underlying(id)].in_use = true;
        return id;
    }
    const auto held = weights_bytes + bytes_;
    if (held > budget_bytes || bytes > budget_bytes - held)
        return fail(Fault::OutOfMemory,
                    "{} bytes of weights, {} in the pool and {} more exceed the device budget of "
                    "{}",
                    weights_bytes, bytes_, bytes, budget_bytes);
    auto buffer = MINFER_TRY(device_.new_buffer(bytes));
    entries_.push_back({.buffer = std::move(buffer), .bytes = bytes, .in_use = true});
    bytes_ += bytes;
    return static_cast<BufferId>(entries_.size() - 1);
}

void Pool::free(BufferId id) {
    auto& entry = entries_[std::to_underlying(id)];
    MINFER_ASSERT(entry.in_use);
    entry.in_use = entry.is_fresh = false;
    idle_[entry.bytes].push_back(id);
}

size_t Pool::idle_bytes() const {
    size_t bytes = 0;
    for (const auto& [size, ids] : idle_) bytes += size * ids.size();
    return bytes;
}

bool Pool::is_fresh(BufferId id) const { return entries_[std::to_underlying(id)].is_fresh; }

Slice Pool::slice(const BufRef& ref) const {
    const auto index = std::to_underlying(ref.id);
    MINFER_ASSERT(ref.backend == BackendId::Metal && index < entries_.size());
    const auto& entry = entries_[index];
    MINFER_ASSERT(ref.offset <= entry.bytes && ref.bytes <= entry.bytes - ref.offset);
    return {entry.buffer.get(), ref.offset, ref.bytes};
}

}  // namespace minfer::metal
