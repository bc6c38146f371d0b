// What all workers of one run share: the launch and what follows from it once.
#pragma once

#include <cstdint>
#include <memory>

#include "softmetal/exec/grid.h"
#include "softmetal/exec/group_order.h"
#include "softmetal/exec/memory_counter.h"
#include "softmetal/exec/memory_map.h"

namespace softmetal::exec {

struct GridPlan {
    static constexpr uint32_t kMaxThreads = 1024;  // in a threadgroup

    const Launch& launch;
    Size3 groups;
    GroupOrder order;
    uint64_t threadgroup_memory_bytes = 0;
    MemoryMap memory;                       // when the module's accesses are checked
    std::unique_ptr<TouchedBytes> touched;  // when they are counted

    bool checks_accesses() const {
        return launch.checks != Checks::Off && launch.module->table().is_checked != 0;
    }
    uint64_t group_count() const { return uint64_t{groups.x} * groups.y * groups.z; }
    // Needs a launch with threads in it.
    static Result<GridPlan> of(const Launch& launch);
};

}  // namespace softmetal::exec
