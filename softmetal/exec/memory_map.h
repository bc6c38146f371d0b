// What a kernel may touch in one run: the launch's buffers and the module's own data, sorted. All
// workers share it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "softmetal/exec/abi.h"

namespace softmetal::exec {

struct Launch;

struct Region {
    enum class Kind : uint8_t { Buffer, Module, Threadgroup, Executor };

    uintptr_t begin = 0;
    uint64_t bytes = 0;
    Kind kind = Kind::Buffer;
    uint32_t allowed = SM_READ | SM_WRITE | SM_ATOMIC;  // sm_access_kind
    std::string name;                                   // for reports: "buffer 'x'"

    uintptr_t end() const { return begin + bytes; }
    bool holds(uintptr_t address, uint64_t size) const {
        return address >= begin && address - begin <= bytes && size <= bytes - (address - begin);
    }
    // A pointer may stand behind the last byte.
    bool holds_pointer(uintptr_t pointer) const {
        return pointer >= begin && pointer - begin <= bytes;
    }
};

class MemoryMap {
  public:
    MemoryMap() = default;
    explicit MemoryMap(const Launch& launch);

    // Calls visit(region) for those that hold the address or end at it, until it returns true.
    template <class Visit>
    bool visit_at(uintptr_t address, Visit visit) const {
        size_t i = first_above(address);
        while (i-- > 0 && reach_[i] >= address) {
            if (regions_[i].holds_pointer(address) && visit(regions_[i])) return true;
        }
        return false;
    }
    // The last that begins at or below the address; null when there is none.
    const Region* below(uintptr_t address) const {
        const size_t above = first_above(address);
        return above == 0 ? nullptr : &regions_[above - 1];
    }
    const Region* above(uintptr_t address) const {
        const size_t i = first_above(address);
        return i == regions_.size() ? nullptr : &regions_[i];
    }
    std::span<const Region> regions() const { return regions_; }

  private:
    size_t first_above(uintptr_t address) const;

    std::vector<Region> regions_;   // by begin; they may overlap
    std::vector<uintptr_t> reach_;  // the furthest end of regions_[0 ... i]
};

}  // namespace softmetal::exec
