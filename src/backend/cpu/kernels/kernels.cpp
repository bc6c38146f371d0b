#include "backend/cpu/kernels/kernels.h"

namespace minfer::cpu {

const MatKernel* find_matrix(const Kernels& kernels, DType dtype, ActFormat activations) {
    for (size_t i = 0; i < kernels.n_matrices; ++i) {
        const auto& matrix = kernels.matrices[i];
        if (matrix.dtype == dtype && matrix.activations == activations) return &matrix;
    }
    return nullptr;
}

}  // namespace minfer::cpu
