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

// What one command does to a stretch of memory.
struct MemoryUse {
    std::shared_ptr<Allocation> memory;
    uint64_t begin = 0, end = 0;  // bytes of `memory`
    bool writes = false;
    std::string buffer;  // how reports name the buffer
    std::string by;      // and the command: "kernel 'add'"
};

class InFlight;

struct HostAccess {
    bool wrote = false;
    uint64_t offset = 0;  // in the use's buffer
    size_t use = 0;       // index
};

class InFlight {
  public:
    explicit InFlight(std::vector<MemoryUse> uses);
    // Opens the memory again, where no other work in flight needs it closed.
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    // One sentence on the first host access, once there was one.
    std::optional<std::string> violation() const;

  private:
    friend void note_host_access(Allocation& memory, uint64_t begin, uint64_t end, bool wrote);
    friend bool claim_host_fault(const struct HostFault& fault);

    std::vector<MemoryUse> uses_;
    bool accessed_ = false;  // both under the watch mutex of the memory's space
    HostAccess access_;
};

// A host access that no page protection sees: didModifyRange writes device memory.
void note_host_access(Allocation& memory, uint64_t begin, uint64_t end, bool wrote);

// Makes the fault handler know a space's host view, and forget it.
void watch_host_view(const void* begin, uint64_t bytes, MemorySpace* space);
void forget_host_view(MemorySpace* space);

}  // namespace softmetal::api
