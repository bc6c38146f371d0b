#pragma once
// Whose Metal it is that this build was linked with.

#include "metal_device.h"

namespace minfer {

extern const bool kSoftwareMetal;

// A backend on the system's device, set up as the settings ask.
Result<std::unique_ptr<MetalBackend>> make_metal(const MetalSettings& settings);

}  // namespace minfer
