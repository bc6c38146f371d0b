// The 8 by 8 product on a CPU. A lane hands over its pair of each operand as floats; whichever lane
// comes last multiplies for all, row by row. The compiler's plugin (exec/pass) collects the
// products of a basic block into one call, so that the lanes meet once for all of them.
#pragma once

namespace metal::sm {

SM_TRUSTED inline void multiply_matrices(const float* operands, const sm_product* products,
                                         sm_u32 n_products, float* results) {
    typedef ext<float, 8> Row;
    for (sm_u32 i = 0; i < n_products; i++, results += 64) {
        const float* a = operands + products[i].left * 64;
        Row b[8];
        __builtin_memcpy(&b, operands + products[i].right * 64, sizeof b);
#pragma clang loop unroll(full)
        for (unsigned r = 0; r < 8; r++) {
            Row sum = a[r * 8] * b[0];
#pragma clang loop unroll(full)
            for (unsigned k = 1; k < 8; k++) {
                sum = __builtin_elementwise_fma(Row(a[r * 8 + k]), b[k], sum);
            }
            __builtin_memcpy(results + r * 8, &sum, sizeof sum);
        }
    }
}

template <class T>
SM_FN double pair_to_bits(vec<T, 2> pair) {
    ext<float, 2> floats{static_cast<float>(pair.x), static_cast<float>(pair.y)};
    return __builtin_bit_cast(double, floats);
}

// This lane's pair of the product, not yet rounded to the result's type.
template <class A, class B>
SM_FN vec<float, 2> multiply_8x8(vec<A, 2> a, vec<B, 2> b, sm_site site) {
    double bits = sm_matrix_product(site, pair_to_bits(a), pair_to_bits(b), multiply_matrices);
    auto floats = __builtin_bit_cast(ext<float, 2>, bits);
    return vec<float, 2>(floats[0], floats[1]);
}

}  // namespace metal::sm
