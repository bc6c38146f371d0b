// The kernels for any machine.

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/simd/scalar.h"

namespace minfer::cpu {

const Kernels& scalar_kernels() {
    static constexpr auto kernels = Table<Scalar>::make("scalar");
    return kernels;
}

}  // namespace minfer::cpu
