#pragma once
// Whose Metal it is that this build was linked with.

#include "metal_device.h"

namespace minfer {

extern const bool kSoftwareMetal;

// Why the system has no Metal device; nothing when it has one.
std::optional<std::string> why_no_metal();

// A backend on the system's device, set up as the settings ask.
Result<std::unique_ptr<MetalBackend>> make_metal(const MetalSettings& settings);

}  // namespace minfer
