#include "backend/cpu/cpu_features.h"

namespace minfer::cpu {

std::vector<IsaKernels> detect_kernels() {
    auto found = std::vector<IsaKernels>{{CpuIsa::Scalar, &scalar_kernels()}};
    // kernels_avx2.cpp is compiled for all three.
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("f16c"))
        found.push_back({CpuIsa::Avx2, &avx2_kernels()});
    return found;
}

}  // namespace minfer::cpu
