#include "metal_provider.h"

namespace minfer {

const bool kSoftwareMetal = false;

std::optional<std::string> why_no_metal() { return metal_unavailable(); }

Result<std::unique_ptr<MetalBackend>> make_metal(const MetalSettings& settings) {
    return make_metal_backend(settings.options);
}

}  // namespace minfer
