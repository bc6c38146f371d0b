#pragma once
// Host memory the backend owns: aligned blocks, and the pool of buffers the planner draws from.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace minfer::cpu {

constexpr size_t kAlign = 64;  // one cache line: no two buffers share one, vectors load aligned

// Uninitialised bytes that can say "out of memory".
class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    static Result<AlignedBuffer> make(size_t bytes);

    std::byte* data() const { return memory_.get(); }
    size_t size() const { return size_; }

    // At least `bytes`; what was inside is lost when it grows.
    Result<> grow(size_t bytes);

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> memory_;
    size_t size_ = 0;
};

// Buffers by id. Freed ones stay in the pool and are handed out again for exactly their size.
class BufferPool {
  public:
    Result<BufferId> alloc(size_t bytes);
    Result<BufferId> alloc_fresh(size_t bytes);
    void free(BufferId id);

    size_t count() const { return buffers_.size(); }
    size_t bytes() const { return bytes_; }

    // The window a reference names; it must lie inside a buffer of this pool.
    std::span<std::byte> view(const BufRef& ref) const;

  private:
    struct Slot {
        AlignedBuffer memory;
        bool idle = false;
    };
    std::vector<Slot> buffers_;
    size_t bytes_ = 0;
};

}  // namespace minfer::cpu
