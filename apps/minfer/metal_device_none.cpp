#include "metal_device.h"

namespace minfer {

std::optional<BackendEntry> metal_entry(const MetalSettings&) { return std::nullopt; }

std::string metal_device_text(const Backend& backend, const MetalSettings&) {
    return std::string(backend.name());
}

std::string metal_device_name(const Backend& backend) { return std::string(backend.name()); }

std::vector<size_t> metal_flash_head_sizes(const MetalSettings&) { return {}; }

size_t metal_copied_bytes(const Backend&) { return 0; }

}  // namespace minfer
