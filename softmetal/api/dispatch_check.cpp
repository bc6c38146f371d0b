#include "softmetal/api/dispatch_check.h"

#include <fmt/format.h>

namespace softmetal::api {
namespace {

std::string text(const Extent& extent) {
    return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
}

constexpr uint64_t kMaxGrid = ~uint32_t{0};

// x * y * z, or kTooMany.
constexpr uint64_t kTooMany = ~uint64_t{0};
uint64_t volume(const Extent& extent) {
    if (extent.x > kMaxGrid || extent.y > kMaxGrid || extent.z > kMaxGrid) return kTooMany;
    const auto product = static_cast<unsigned __int128>(extent.x) * extent.y * extent.z;
    return product >> 64 ? kTooMany : static_cast<uint64_t>(product);
}

}  // namespace

std::vector<std::string> find_limit_faults(const DispatchRequest& request,
                                           const DeviceLimits& limits) {
    std::vector<std::string> faults;
    const auto& kernel = request.code->name();
    const auto& threads = request.threads_per_threadgroup;
    if (threads.is_empty()) {
        faults.push_back(
            fmt::format("kernel '{}': threadsPerThreadgroup is {}, and none of its parts "
                        "may be 0",
                        kernel, text(threads)));
        return faults;
    }
    const uint64_t total = volume(threads);
    if (total == kTooMany) {
        faults.push_back(
            fmt::format("kernel '{}': {} threads per threadgroup, and the device allows {}", kernel,
                        text(threads), limits.max_threads_per_threadgroup));
    } else if (total > limits.max_threads_per_threadgroup) {
        faults.push_back(
            fmt::format("kernel '{}': {} threads per threadgroup are {}, and the device "
                        "allows {}",
                        kernel, text(threads), total, limits.max_threads_per_threadgroup));
    } else if (total > request.pipeline_max_threads) {
        faults.push_back(
            fmt::format("kernel '{}': {} threads per threadgroup are {}, and the "
                        "pipeline's maxTotalThreadsPerThreadgroup is {}",
                        kernel, text(threads), total, request.pipeline_max_threads));
    }
    if (request.in_threads && limits.apple_family < 4) {
        faults.push_back(
            fmt::format("kernel '{}': dispatchThreads needs a device of family Apple4, "
                        "and this one is Apple{}",
                        kernel, limits.apple_family));
    }
    const auto grid_axis = [&](char axis, uint64_t count, uint64_t each) {
        if (count > kMaxGrid / each) {
            faults.push_back(
                fmt::format("kernel '{}': the grid has {} x {} threads along {}, and at "
                            "most {} are allowed",
                            kernel, count, each, axis, kMaxGrid));
        }
    };
    grid_axis('x', request.grid.x, request.in_threads ? 1 : threads.x);
    grid_axis('y', request.grid.y, request.in_threads ? 1 : threads.y);
    grid_axis('z', request.grid.z, request.in_threads ? 1 : threads.z);

    uint64_t bytes = request.static_threadgroup_bytes;
    for (const auto* argument : request.code->arguments()) {
        if (argument->kind == SM_ARGUMENT_THREADGROUP)
            bytes += request.threadgroup_bytes[argument->index];
    }
    if (bytes > limits.max_threadgroup_bytes) {
        faults.push_back(
            fmt::format("kernel '{}': {} bytes of threadgroup memory ({} in the kernel, {} from "
                        "setThreadgroupMemoryLength), and the device allows {}",
                        kernel, bytes, request.static_threadgroup_bytes,
                        bytes - request.static_threadgroup_bytes, limits.max_threadgroup_bytes));
    }
    return faults;
}

std::vector<std::string> find_binding_faults(const DispatchRequest& request) {
    std::vector<std::string> faults;
    const auto& kernel = request.code->name();
    if (!request.is_indirect && request.grid.is_empty()) {
        faults.push_back(
            fmt::format("kernel '{}': the grid is {} {}, and none of its parts may be 0", kernel,
                        text(request.grid), request.in_threads ? "threads" : "threadgroups"));
    }
    const auto& threads = request.threads_per_threadgroup;
    if (request.is_multiple_of_width && volume(threads) != kTooMany &&
        volume(threads) % SM_SIMD_WIDTH != 0) {
        faults.push_back(fmt::format(
            "kernel '{}': {} threads per threadgroup are {}, and the pipeline was made with "
            "threadGroupSizeIsMultipleOfThreadExecutionWidth; the width is {}",
            kernel, text(threads), volume(threads), +SM_SIMD_WIDTH));
    }
    for (const auto* argument : request.code->arguments()) {
        if (argument->kind == SM_ARGUMENT_THREADGROUP) {
            if (request.threadgroup_bytes[argument->index] != 0) continue;
            faults.push_back(
                fmt::format("kernel '{}': threadgroup({}) '{}' has no memory; call "
                            "setThreadgroupMemoryLength",
                            kernel, argument->index, argument->name));
            continue;
        }
        const auto& bound = request.buffers[argument->index];
        if (!bound.is_bound) {
            faults.push_back(fmt::format("kernel '{}': nothing is bound to buffer({}) '{}'", kernel,
                                         argument->index, argument->name));
            continue;
        }
        if (bound.offset > bound.length) continue;  // was reported when it was set
        const uint64_t left = bound.length - bound.offset;
        if (argument->is_reference && left < argument->bytes) {
            faults.push_back(
                fmt::format("kernel '{}': buffer({}) '{}' holds {} bytes from offset {} on, and "
                            "its type {} has {}",
                            kernel, argument->index, argument->name, left, bound.offset,
                            argument->type, argument->bytes));
        }
        // Metal asks for 4 bytes in the constant address space, for the element's own otherwise.
        const uint64_t alignment =
            argument->is_constant ? std::min(argument->alignment, 4u) : argument->alignment;
        if (alignment > 1 && bound.offset % alignment != 0) {
            faults.push_back(fmt::format(
                "kernel '{}': offset {} of buffer({}) '{}' is not a multiple of {}, which its type "
                "{} "
                "needs",
                kernel, bound.offset, argument->index, argument->name, alignment, argument->type));
        }
    }
    return faults;
}

}  // namespace softmetal::api
