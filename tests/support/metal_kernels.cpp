#include "support/metal_kernels.h"

#include "backend/metal/device/device.h"

namespace minfer::test {

std::vector<std::string> metal_kernel_names() {
    const auto device = metal::Device::create("");
    return device ? (*device)->kernel_names() : std::vector<std::string>();
}

}  // namespace minfer::test
