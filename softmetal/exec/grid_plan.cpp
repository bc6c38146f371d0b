#include "softmetal/exec/grid_plan.h"

#include <fmt/format.h>

#include "softmetal/exec/threadgroup_memory.h"

namespace softmetal::exec {
namespace {

uint32_t pieces(uint32_t whole, uint32_t piece) { return whole / piece + (whole % piece != 0); }

}  // namespace

Result<GridPlan> GridPlan::of(const Launch& launch) {
    const Size3 threads = launch.threads, group = launch.threads_per_threadgroup;
    const bool is_empty = group.x == 0 || group.y == 0 || group.z == 0;
    // Each factor first: the product of three could wrap around.
    if (is_empty || group.x > kMaxThreads || group.y > kMaxThreads || group.z > kMaxThreads ||
        uint64_t{group.x} * group.y * group.z > kMaxThreads) {
        return fail(
            fmt::format("kernel '{}': a threadgroup of {} x {} x {} threads, allowed are 1 to {}",
                        launch.kernel->name, group.x, group.y, group.z, kMaxThreads));
    }
    const auto groups = Size3{.x = pieces(threads.x, group.x),
                              .y = pieces(threads.y, group.y),
                              .z = pieces(threads.z, group.z)};
    auto plan =
        GridPlan{.launch = launch,
                 .groups = groups,
                 .order = GroupOrder(uint64_t{groups.x} * groups.y * groups.z, launch.order_seed),
                 .threadgroup_memory_bytes = ThreadgroupMemory::bytes_for(launch)};
    if (!plan.checks_accesses()) return plan;
    plan.memory = MemoryMap(launch);
    if (launch.count_memory) {
        plan.touched = std::make_unique<TouchedBytes>(plan.memory);
        if (!plan.touched->is_complete()) return fail("out of memory for counting bytes");
    }
    return plan;
}

}  // namespace softmetal::exec
