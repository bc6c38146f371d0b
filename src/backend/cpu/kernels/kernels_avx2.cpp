// The kernels for x86 with AVX2, FMA and F16C; compiled with those flags.

#include "backend/cpu/kernels/table.h"
#include "backend/cpu/simd/avx2.h"

namespace minfer::cpu {

const Kernels& avx2_kernels() {
    static constexpr auto kernels = Table<Avx2>::make("avx2");
    return kernels;
}

}  // namespace minfer::cpu
