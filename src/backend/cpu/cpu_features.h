#pragma once
// What this machine can run. One file per architecture implements it.

#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/kernels.h"

namespace minfer::cpu {

struct IsaKernels {
    CpuIsa isa;
    const Kernels* kernels;
};

// Those the machine can run, the best last; never empty.
std::vector<IsaKernels> detect_kernels();

}  // namespace minfer::cpu
