// Judges the accesses of the kernels of one worker. Most are answered from what the same source
// position touched last; the rest by search.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "softmetal/exec/memory_map.h"

namespace softmetal::exec {

struct Access {
    uintptr_t address = 0;
    uintptr_t base = 0;  // where the pointer came from; 0: unknown
    uint64_t bytes = 0;
    uint32_t kind = 0;  // sm_access_kind with the alignment
    sm_site site = 0;
};

class MemoryChecker {
  public:
    // For one run.
    void begin(const MemoryMap& map, const Launch& launch);
    // Memory of this worker: threadgroup arrays, and what kernels and the executor hand each other.
    void add(Region region) { own_.push_back(std::move(region)); }

    // `stack` is the lowest address of the running thread's stack.
    [[gnu::always_inline]] bool allows(const Access& access, uintptr_t stack,
                                       uint64_t stack_bytes) {
        const uint64_t misaligned =
            access.address & ((uint64_t{1} << (access.kind >> SM_ALIGNMENT_SHIFT)) - 1);
        const Recent& recent = recent_[access.site * 0x9e3779b97f4a7c15u >> 58];
        const uint64_t offset = access.address - recent.begin;
        if (offset <= recent.bytes && access.bytes <= recent.bytes - offset &&
            (access.base == 0 || access.base - recent.begin <= recent.bytes) &&
            (access.kind & kKinds & ~recent.allowed) == 0 && misaligned == 0) [[likely]] {
            return true;
        }
        const uint64_t depth = access.address - stack;
        if (depth <= stack_bytes && access.bytes <= stack_bytes - depth && misaligned == 0) {
            return true;
        }
        return search(access);
    }
    // The buffer that holds the address of an allowed access, or null for other memory.
    const Region* buffer_of(const Access& access) const;

    // What is wrong with an access that is not allowed. `what` is how the sentence begins, for
    // example describe_access(...).
    std::string complaint(const Access& access, const std::string& what) const;

  private:
    static constexpr uint32_t kKinds = SM_READ | SM_WRITE | SM_ATOMIC;
    struct Recent {
        uintptr_t begin = 1;
        uint64_t bytes = 0;
        uint32_t allowed = 0;
    };

    bool search(const Access& access);
    const Region* region_for(const Access& access) const;
    const Region* region_of_pointer(uintptr_t pointer) const;
    const Region* nearest(uintptr_t address) const;

    std::array<Recent, 64> recent_ = {};
    const MemoryMap* map_ = nullptr;
    const Launch* launch_ = nullptr;
    std::vector<Region> own_;
};

std::string describe_access(uint64_t bytes, uint32_t kind);  // "reads 4 bytes"

}  // namespace softmetal::exec
