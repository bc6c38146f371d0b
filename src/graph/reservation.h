#pragma once
// The activation buffers that all cached graphs share. Only one graph executes at a time and its
// activations are dead once its outputs were read, so every graph may use every buffer; a graph
// that fits what is there allocates nothing.

#include <span>

#include "graph/backend.h"
#include "graph/memory_plan.h"

namespace minfer {

class Reservation {
  public:
    Reservation() = default;
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;

    // A buffer for each slot, no two the same and none smaller than its slot: the smallest that
    // fits, largest slots first, which leaves the fewest bytes to allocate. A slot that nothing
    // fits gets a new buffer. Deterministic: depends only on the slots and earlier calls.
    Result<std::vector<BufferId>> map(std::span<const Slot> slots,
                                      std::span<Backend* const> backends);

    // What of the slots on this backend map() would have to allocate, in bytes.
    size_t missing_bytes(std::span<const Slot> slots, BackendId backend);

  private:
    struct Pick {
        size_t slot = 0;
        std::optional<size_t> buffer;  // none: a new one
    };
    std::vector<Pick> pick(std::span<const Slot> slots);  // in the order that map() takes them

    struct Buffer {
        Backend* backend = nullptr;
        BufferId id{};
        size_t bytes = 0;
    };
    std::vector<Buffer> buffers_;
};

// The backend with this id, or null.
Backend* find_backend(std::span<Backend* const> backends, BackendId id);

}  // namespace minfer
