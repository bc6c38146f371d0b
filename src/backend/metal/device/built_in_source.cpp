// Kernels as source, compiled by the system when the program starts.

#include "backend/metal/device/built_in.h"

extern "C" const unsigned char minfer_kernel_library[];
extern "C" const size_t minfer_kernel_library_size;

namespace minfer::metal {

Result<NS::SharedPtr<MTL::Library>> built_in_library(MTL::Device* device) {
    return compile_library(device, std::string(reinterpret_cast<const char*>(minfer_kernel_library),
                                               minfer_kernel_library_size));
}

}  // namespace minfer::metal
