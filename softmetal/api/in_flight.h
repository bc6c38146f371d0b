// Catches a host that touches a buffer while work in flight uses it. Nothing on a real GPU would:
// the host would read old bytes, or the kernel new ones. While an InFlight lives, the host's view
// of the pages its uses cover is read-only (the work reads them) or closed (the work writes them).
// A host access then faults; the page is opened, the access goes on, and the InFlight remembers the
// first one.
//
// A system call that is handed closed memory (read(2) into contents()) does not fault but fails
// with EFAULT. Memory of the program's own (no-copy buffers) is never protected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softmetal/api/memory.h"

namespace softmetal::api {

// What work does to a stretch of memory.
struct MemoryUse {
    std::shared_ptr<Allocation> memory;  // a root
    uint64_t begin = 0, end = 0;
    bool writes = false;
};

struct HostAccess {
    const Allocation* memory = nullptr;  // a root
    uint64_t offset = 0;
    bool wrote = false;
};

class InFlight {
  public:
    // Few uses that do not overlap keep this quick: see merged().
    explicit InFlight(std::vector<MemoryUse> uses);
    // Opens the memory again, where no other work in flight needs it closed.
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    // The first host access, once there was one.
    std::optional<HostAccess> violation() const;

  private:
    friend bool claim_host_fault(const struct HostFault& fault);
    friend void note_host_access(Allocation& memory, uint64_t begin, uint64_t end, bool wrote);

    const std::vector<MemoryUse> uses_;
    mutable Mutex mutex_;
    std::optional<HostAccess> access_ SOFTMETAL_GUARDED_BY(mutex_);
};

// The same uses with overlapping and touching ones of one kind joined.
std::vector<MemoryUse> merged(std::vector<MemoryUse> uses);

// A host access that no page protection sees: didModifyRange writes device memory.
void note_host_access(Allocation& memory, uint64_t begin, uint64_t end, bool wrote);

// Makes the fault handler know a space's host view, and forget it.
void watch_host_view(const void* begin, uint64_t bytes, MemorySpace* space);
void forget_host_view(MemorySpace* space);

}  // namespace softmetal::api
