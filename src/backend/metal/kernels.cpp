#include "backend/metal/kernels.h"

#include <algorithm>

namespace minfer::metal {

Result<std::string> weight_kernel_name(std::string_view family, DType dtype) {
    if (!runs_as_weight(dtype))
        return fail(Fault::Unsupported, "type {} does not run on Metal", name(dtype));
    auto kernel = fmt::format("{}_{}", family, name(dtype));
    std::ranges::transform(kernel, kernel.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    });
    return kernel;
}

Result<Kernels> Kernels::build(const Device& device) {
    Kernels kernels;
    kernels.elementwise = MINFER_TRY(ElementwiseKernels::build(device));
    kernels.norm = MINFER_TRY(NormKernels::build(device));
    kernels.gather = MINFER_TRY(GatherKernels::build(device));
    kernels.rope = MINFER_TRY(RopeKernels::build(device));
    kernels.warm_up = MINFER_TRY(WarmUpKernels::build(device));
    kernels.add_bias = MINFER_TRY(device.pipeline("add_bias_f32", kAddBiasThreads));
    return kernels;
}

Result<> Kernels::build_for(const Device& device, DType dtype, const MetalOptions& options) {
    MINFER_TRY(gather.build_for(device, dtype));
    if (!matmul.contains(dtype)) matmul[dtype] = MINFER_TRY(MatmulKernels::build(device, dtype));
    if (options.gemm && !gemm.contains(dtype))
        gemm[dtype] = MINFER_TRY(GemmKernels::build(device, dtype, options));
    return {};
}

}  // namespace minfer::metal
