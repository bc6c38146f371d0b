#pragma once
// The Metal device in the program's list of backends. The build picks the files behind this
// header: a Mac's Metal, the software one, or none.

#include <optional>
#include <string>
#include <vector>

#include "backend/metal/metal_backend.h"
#include "graph/registry.h"

namespace minfer {

struct MetalSettings {
    std::string disabled_by;              // the variable that forbids the GPU; empty: none
    std::optional<double> timeout;        // seconds to wait for one command buffer
    std::string software_checks = "off";  // of a software device: off, bounds or all
    MetalOptions options;                 // submit_bound_seconds follows from timeout
};

// The entry for the registry; nothing in a build without Metal.
std::optional<BackendEntry> metal_entry(const MetalSettings& settings);

// "metal (Apple M4, unified memory)", "metal (softmetal, unified memory, software, checks off)".
// `backend` was made by the entry.
std::string metal_device_text(const Backend& backend, const MetalSettings& settings);

// "Apple M4", as the system calls the device.
std::string metal_device_name(const Backend& backend);

// The sizes of heads for which the device has fused attention.
std::vector<size_t> metal_flash_head_sizes(const MetalSettings& settings);

// Bytes of weights that the device has a copy of, instead of using them where the file lies.
size_t metal_copied_bytes(const Backend& backend);

// Seconds to wait without another word: a software device takes longer than a GPU for what is not
// a hang.
constexpr double kGpuTimeout = 10, kSoftwareTimeout = 600;

}  // namespace minfer
