// Kernels compiled when the program was built.

#include <dispatch/dispatch.h>

#include "backend/metal/device/built_in.h"
#include "backend/metal/device/device.h"

extern "C" const unsigned char minfer_kernel_library[];
extern "C" const size_t minfer_kernel_library_size;

namespace minfer::metal {

Result<NS::SharedPtr<MTL::Library>> built_in_library(MTL::Device* device) {
    auto* const data = dispatch_data_create(minfer_kernel_library, minfer_kernel_library_size,
                                            nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    NS::Error* error = nullptr;
    auto library = NS::TransferPtr(device->newLibrary(data, &error));
    dispatch_release(data);
    if (!library)
        return fail(Fault::Device, "the built-in kernels do not load: {}", describe(error));
    return library;
}

}  // namespace minfer::metal
