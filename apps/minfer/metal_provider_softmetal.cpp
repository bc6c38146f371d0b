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

// What failed, and the cause, where the device gave none but nil.
std::string with_cause(std::string what) {
    if (const auto why = softmetal::why_nil(); !why.empty()) what += ": " + why;
    return what;
}

}  // namespace

const bool kSoftwareMetal = true;

std::optional<std::string> why_no_metal() {
    auto reason = metal_unavailable();
    if (reason) reason = with_cause(*std::move(reason));
    return reason;
}

Result<std::unique_ptr<MetalBackend>> make_metal(const MetalSettings& settings) {
    // The system's device is one object as long as somebody holds it: the backend gets this one.
    auto* const device = MTL::CreateSystemDefaultDevice();
    if (device == nullptr) return fail(Fault::Device, "{}", with_cause("no Metal device"));
    softmetal::set_checks(device, checks_of(settings.software_checks));
    auto backend = make_metal_backend(settings.options);
    device->release();
    if (!backend && backend.error().fault == Fault::Device)
        return fail(Fault::Device, "{}", with_cause(std::move(backend).error().what));
    return backend;
}

}  // namespace minfer
