// What all workers of one run share: the launch and what follows from it once.
#pragma once

#include <cstdint>

#include "softmetal/exec/grid.h"
#include "softmetal/exec/group_order.h"

namespace softmetal::exec {

struct GridPlan {
    static constexpr uint32_t kMaxThreads = 1024;  // in a threadgroup

    const Launch& launch;
    Size3 groups;
    GroupOrder order;
    uint64_t threadgroup_arena_bytes = 0;

    uint64_t group_count() const { return uint64_t{groups.x} * groups.y * groups.z; }
    // Needs a launch with threads in it.
    static Result<GridPlan> of(const Launch& launch);
};

}  // namespace softmetal::exec
