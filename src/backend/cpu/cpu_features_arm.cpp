#include "backend/cpu/cpu_features.h"

namespace minfer::cpu {

// Every 64-bit ARM has the Advanced SIMD that kernels_neon.cpp is compiled for.
std::vector<IsaKernels> detect_kernels() {
    return {{CpuIsa::Scalar, &scalar_kernels()}, {CpuIsa::Neon, &neon_kernels()}};
}

}  // namespace minfer::cpu
