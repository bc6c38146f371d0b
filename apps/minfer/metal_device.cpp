#include "metal_device.h"

#include "metal_provider.h"

namespace minfer {

std::optional<BackendEntry> metal_entry(const MetalSettings& settings) {
    auto settled = settings;
    settled.options.submit_bound_seconds =
        settings.timeout.value_or(kSoftwareMetal ? kSoftwareTimeout : kGpuTimeout);
    return BackendEntry{
        .id = BackendId::Metal,
        .software = kSoftwareMetal,
        .unavailable = [by = settings.disabled_by]() -> std::optional<std::string> {
            if (!by.empty()) return "disabled by " + by;
            return why_no_metal();
        },
        .make = [settled]() -> Result<std::unique_ptr<Backend>> { return make_metal(settled); }};
}

std::string metal_device_text(const Backend& backend, const MetalSettings& settings) {
    const auto& metal = static_cast<const MetalBackend&>(backend);
    return fmt::format("metal ({}, {} memory{})", metal.device_name(),
                       metal.has_unified_memory() ? "unified" : "separate",
                       kSoftwareMetal ? ", software, checks " + settings.software_checks : "");
}

std::string metal_device_name(const Backend& backend) {
    return std::string(static_cast<const MetalBackend&>(backend).device_name());
}

std::vector<size_t> metal_flash_head_sizes(const MetalSettings& settings) {
    return flash_head_sizes(settings.options.attention);
}

size_t metal_copied_bytes(const Backend& backend) {
    return static_cast<const MetalBackend&>(backend).copied_weights_bytes();
}

}  // namespace minfer
