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

  private:
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
