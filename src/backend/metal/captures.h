#pragma once
// Values on their way to somebody who looks on: copied aside by the command buffer that computes
// them, right behind the kernel, as the next one may take their memory.

#include <vector>

#include "backend/metal/pool.h"
#include "graph/backend.h"

namespace minfer::metal {

class Captures {
  public:
    explicit Captures(Pool& pool) : pool_(pool) {}

    // `staging` is a buffer of the pool that a copy was encoded to. It goes back to the pool, for
    // the next value of its size, once the value was shown or the work failed.
    void add(BufferId staging, size_t bytes, Backend::Seen seen);
    // The work ended: shows everything in the order it was added.
    void deliver();
    // The work failed: shows nothing.
    void drop();

  private:
    struct Pending {
        BufRef staging;
        Backend::Seen seen;
    };
    Pool& pool_;
    std::vector<Pending> pending_;
};

}  // namespace minfer::metal
