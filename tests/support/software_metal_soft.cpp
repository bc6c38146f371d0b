#include <Metal/Metal.hpp>

#include "softmetal/control.h"
#include "support/software_metal.h"

namespace minfer::test {

SoftwareMetal::SoftwareMetal(bool checked, int workers) {
    if (auto profile = softmetal::default_profile(); profile.workers != workers) {
        profile.workers = workers;
        softmetal::set_default_profile(profile);
    }
    auto* const device = MTL::CreateSystemDefaultDevice();
    softmetal::set_checks(device, checked ? softmetal::Checks::All : softmetal::Checks::Off);
    device_ = device;
}

SoftwareMetal::~SoftwareMetal() { static_cast<MTL::Device*>(device_)->release(); }

void SoftwareMetal::set_order_seed(uint64_t seed) {
    softmetal::set_order_seed(static_cast<MTL::Device*>(device_), seed);
}

}  // namespace minfer::test
