// Whether a dispatch is one that Metal accepts: the rules of its validation layer, as a pure
// function of what is bound. Each message names the kernel, what was found and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "softmetal/api/kernel_code.h"
#include "softmetal/exec/abi.h"

namespace softmetal::api {

struct DeviceLimits {
    uint64_t max_buffer_bytes = 0;
    uint32_t max_threads_per_threadgroup = 1024;
    uint32_t max_threadgroup_bytes = 32768;
    uint32_t apple_family = 7;
};

struct Extent {
    uint64_t x = 0, y = 0, z = 0;
    bool is_empty() const { return x == 0 || y == 0 || z == 0; }
};

// What setBuffer or setBytes left at one index.
struct BoundBuffer {
    bool is_bound = false;
    uint64_t offset = 0;
    uint64_t length = 0;  // of the buffer, from its own start
};

struct DispatchRequest {
    const KernelCode* code = nullptr;
    uint32_t pipeline_max_threads = 0;
    bool in_threads = false;   // `grid` counts threads, not threadgroups
    bool is_indirect = false;  // the grid is not known yet
    Extent grid, threads_per_threadgroup;
    std::span<const BoundBuffer, SM_MAX_BUFFERS> buffers;
    std::span<const uint64_t, SM_MAX_THREADGROUP> threadgroup_bytes;
    uint64_t static_threadgroup_bytes = 0;
    bool is_multiple_of_width = false;  // the pipeline promises whole SIMD groups
};

// What would endanger the executor: asked for with checks off too.
std::vector<std::string> find_limit_faults(const DispatchRequest& request,
                                           const DeviceLimits& limits);

// What is wrong with the bindings. Only with checks on: a kernel may leave an argument alone.
std::vector<std::string> find_binding_faults(const DispatchRequest& request);

}  // namespace softmetal::api
