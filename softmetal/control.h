// What Metal has no words for: how the software device behaves, what it saw, and failures on
// request. For tests and timed programs; a program that only includes this header still runs
// against Apple's Metal as long as it does not call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace MTL {
class Device;
}

namespace softmetal {

// Off: kernels run at full speed; only what would endanger the process is refused. Bounds: every
// access of a kernel stays in the buffers it may reach, bindings are complete, and the host keeps
// its hands off memory that work in flight uses. All: every check there is. What is wrong ends the
// command buffer in an error that says so. A device starts with what SOFTMETAL_CHECKS in the
// environment says (off, bounds, all), else with Bounds.
enum class Checks : uint8_t { Off, Bounds, All };

// Limits a device reports and keeps to.
struct DeviceProfile {
    std::string name = "softmetal";
    uint64_t memory_bytes = 0;      // recommendedMaxWorkingSetSize; 0: three quarters of RAM
    bool enforce_memory = false;    // allocations past memory_bytes return nil
    uint64_t max_buffer_bytes = 0;  // 0: memory_bytes
    uint32_t max_threads_per_threadgroup = 1024;
    uint32_t max_threadgroup_memory_bytes = 32768;
    uint32_t apple_family = 7;  // the highest MTLGPUFamilyApple supported
    int workers = 0;            // 0: one per core
};

// The next MTLCreateSystemDefaultDevice makes a device of this profile, even while an earlier one
// lives.
void set_default_profile(const DeviceProfile& profile);
DeviceProfile default_profile();

void set_checks(MTL::Device* device, Checks checks);  // for command buffers made from now on
Checks checks(MTL::Device* device);
void set_order_seed(MTL::Device* device, uint64_t seed);  // 0: ascending
// Lanes that wait at different places go on in turns, as on hardware, instead of being an error.
void set_serve_lowest_site_first(MTL::Device* device, bool on);

// Of all dispatches of one kernel that ran to their end. Distinct bytes are counted once for each
// dispatch, or once for each SIMD group of it and then added up.
struct KernelCounters {
    std::string kernel;
    uint64_t dispatches = 0, threads = 0, barriers = 0;
    uint64_t read_bytes = 0, read_distinct_bytes = 0, read_distinct_in_simdgroup_bytes = 0;
    uint64_t written_bytes = 0, written_distinct_bytes = 0, written_distinct_in_simdgroup_bytes = 0;
};
void set_memory_counters(MTL::Device* device, bool on);  // needs checks on
std::vector<KernelCounters> counters(MTL::Device* device);
void reset_counters(MTL::Device* device);

// Failures on request; each is used up by the next matching event. A command buffer is chosen when
// it is committed, and runs nothing.
void fail_next_command_buffer(MTL::Device* device, int64_t command_buffer_error_code);
// Then it ends in a timeout error.
void hang_next_command_buffer(MTL::Device* device, double seconds);
void refuse_allocation(MTL::Device* device, uint64_t nth);  // 1: the next one
void fail_next_pipeline(MTL::Device* device, std::string reason);

// No thread of the runtime can be started any more, as in a process that has as many as it may.
void refuse_threads(bool on);

// Why the last device or command queue that could not be had is nil: Metal has no word for it.
// Empty: there was none.
std::string why_nil();

// Live objects of the software runtime, by class, for leak tests.
struct LiveObjects {
    std::string class_name;
    uint64_t count = 0;
};
std::vector<LiveObjects> live_objects();

}  // namespace softmetal
