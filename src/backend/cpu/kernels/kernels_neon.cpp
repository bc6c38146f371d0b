// The kernels for 64-bit ARM.

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/simd/neon.h"

namespace minfer::cpu {

const Kernels& neon_kernels() {
    static constexpr auto kernels = Table<Neon>::make("neon");
    return kernels;
}

}  // namespace minfer::cpu
