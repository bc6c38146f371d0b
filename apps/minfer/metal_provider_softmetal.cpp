#include <Metal/Metal.hpp>

#include "metal_provider.h"
#include "softmetal/control.h"

namespace minfer {
namespace {

softmetal::Checks checks_of(std::string_view text) {
    if (text == "off") return softmetal::Checks::Off;
    if (text == "bounds") return softmetal::Checks::Bounds;
    MINFER_ASSERT(text == "all");
    return softmetal::Checks::All;
}

}  // namespace

const bool kSoftwareMetal = true;

Result<std::unique_ptr<MetalBackend>> make_metal(const MetalSettings& settings) {
    // The system's device is one object as long as somebody holds it: the backend gets this one.
    auto* const device = MTL::CreateSystemDefaultDevice();
    if (device == nullptr) return fail(Fault::Device, "no Metal device");
    softmetal::set_checks(device, checks_of(settings.software_checks));
    auto backend = make_metal_backend(settings.options);
    device->release();
    return backend;
}

}  // namespace minfer
