#pragma once
// Buffers of exactly the asked size, kept for ever and handed out again. What is charged against
// the budget is everything ever created.

#include <map>
#include <vector>

#include "backend/metal/device/device.h"
#include "graph/types.h"

namespace minfer::metal {

class Pool {
  public:
    explicit Pool(const Device& device) : device_(device) {}

    // An idle buffer of exactly this size, else a new one; `fresh`: always a new one. OutOfMemory
    // naming weights, pool, request and budget when a new one would exceed the budget.
    Result<BufferId> alloc(size_t bytes, bool fresh, size_t weights_bytes, size_t budget_bytes);
    void free(BufferId id);  // once; the memory stays

    // Asserts that the reference lies inside its buffer.
    Slice slice(const BufRef& ref) const;

    // Nobody had this buffer before: it is zero still.
    bool is_fresh(BufferId id) const;

    size_t count() const { return entries_.size(); }
    size_t bytes() const { return bytes_; }
    size_t idle_bytes() const;

  private:
    struct Entry {
        Buffer buffer;
        size_t bytes = 0;
        bool in_use = false, is_fresh = true;
    };
    const Device& device_;
    std::vector<Entry> entries_;
    std::map<size_t, std::vector<BufferId>> idle_;  // by size
    size_t bytes_ = 0;
};

}  // namespace minfer::metal
