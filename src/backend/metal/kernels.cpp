#include "backend/metal/kernels.h"

namespace minfer::metal {

Result<Kernels> Kernels::build(const Device& device) {
    Kernels kernels;
    kernels.elementwise = MINFER_TRY(ElementwiseKernels::build(device));
    kernels.norm = MINFER_TRY(NormKernels::build(device));
    kernels.warm_up = MINFER_TRY(WarmUpKernels::build(device));
    return kernels;
}

Result<> Kernels::build_for(const Device&, DType dtype) {
    return fail(Fault::Unsupported, "type {} does not run on Metal", name(dtype));
}

}  // namespace minfer::metal
