// The threadgroup memory of one worker: the arrays that a kernel declares and those that are bound,
// with gaps between them, so that a short overrun does not silently meet a neighbour.
#pragma once

#include <cstdint>
#include <vector>

#include "softmetal/exec/abi.h"

namespace softmetal::exec {

struct Launch;

class ThreadgroupMemory {
  public:
    ThreadgroupMemory() = default;
    ~ThreadgroupMemory();
    ThreadgroupMemory(const ThreadgroupMemory&) = delete;
    ThreadgroupMemory& operator=(const ThreadgroupMemory&) = delete;

    // Room enough for all arrays of a launch.
    static uint64_t bytes_for(const Launch& launch);

    // Forgets all arrays. False when the system has no memory.
    bool begin(uint64_t bytes);
    // A new array; null when there is no room.
    char* place(uint64_t bytes, uint64_t alignment);

    // The array of a variable of the kernel, once it was placed; else null.
    char* find(const sm_threadgroup_variable& variable) const {
        for (const auto& placed : variables_) {
            if (placed.variable == &variable) return placed.address;
        }
        return nullptr;
    }
    char* place(const sm_threadgroup_variable& variable);

    // Fills arrays with what no program should rely on.
    void make_unspecified();
    static void make_unspecified(char* begin, uint64_t bytes);

  private:
    struct PlacedVariable {
        const sm_threadgroup_variable* variable;
        char* address;
    };

    char* memory_ = nullptr;
    uint64_t bytes_ = 0, used_ = 0;
    std::vector<PlacedVariable> variables_;
};

}  // namespace softmetal::exec
