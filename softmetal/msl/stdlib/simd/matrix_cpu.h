// The 8 by 8 product on a CPU: one exchange hands over both operands of all lanes, and whichever
// lane comes last multiplies them row by row.
//
// Apple's layout puts a pair of neighbours of one row in each lane. Row r lies in the lanes
// b, b + 1, b + 8, b + 9 with b = 16 (r / 4) + 2 (r % 4).
#pragma once

namespace metal::sm {

template <class A, class B>
struct matrix_operands {
    vec<A, 2> a;
    vec<B, 2> b;
};

SM_FN constexpr unsigned first_lane_of_row(unsigned row) { return row / 4 * 16 + row % 4 * 2; }

template <class A, class B>
inline void combine_multiply(sm_lanes* lanes) {
    typedef ext<float, 8> Row;
    Row a[8], b[8];
    for (unsigned r = 0; r < 8; r++) {
        const sm_u8* left = lanes->value + first_lane_of_row(r) * sizeof(matrix_operands<A, B>);
        const sm_u8* right = left + 8 * sizeof(matrix_operands<A, B>);
        if constexpr (sizeof(A) == sizeof(B)) {
            // Two lanes are a0 a1 b0 b1 a2 a3 b2 b3; what differs between A and B is only the type.
            ext<signed_bits<A>, 8> lower, upper;
            __builtin_memcpy(&lower, left, sizeof lower);
            __builtin_memcpy(&upper, right, sizeof upper);
            auto row_a = __builtin_shufflevector(lower, upper, 0, 1, 4, 5, 8, 9, 12, 13);
            auto row_b = __builtin_shufflevector(lower, upper, 2, 3, 6, 7, 10, 11, 14, 15);
            a[r] = convert<float, A, 8>(__builtin_bit_cast(native_t<A, 8>, row_a));
            b[r] = convert<float, B, 8>(__builtin_bit_cast(native_t<B, 8>, row_b));
        } else {
            matrix_operands<A, B> lower[2], upper[2];
            __builtin_memcpy(&lower, left, sizeof lower);
            __builtin_memcpy(&upper, right, sizeof upper);
            for (unsigned i = 0; i < 2; i++) {
                for (unsigned k = 0; k < 2; k++) {
                    a[r][2 * i + k] = static_cast<float>(lower[i].a[k]);
                    a[r][4 + 2 * i + k] = static_cast<float>(upper[i].a[k]);
                    b[r][2 * i + k] = static_cast<float>(lower[i].b[k]);
                    b[r][4 + 2 * i + k] = static_cast<float>(upper[i].b[k]);
                }
            }
        }
    }
    for (unsigned r = 0; r < 8; r++) {
        Row sum = a[r][0] * b[0];
        for (unsigned k = 1; k < 8; k++) sum = __builtin_elementwise_fma(Row(a[r][k]), b[k], sum);
        sm_u8* left = lanes->result + first_lane_of_row(r) * sizeof(vec<float, 2>);
        __builtin_memcpy(left, &sum, 16);
        __builtin_memcpy(left + 8 * sizeof(vec<float, 2>), reinterpret_cast<const char*>(&sum) + 16,
                         16);
    }
}

// This lane's pair of the product, not yet rounded to the result's type.
template <class A, class B>
SM_FN vec<float, 2> multiply_8x8(vec<A, 2> a, vec<B, 2> b, sm_site site) {
    matrix_operands<A, B> operands{a, b};
    return lane_result<vec<float, 2>>(
        sm_simd_exchange(site, &operands, sizeof operands, combine_multiply<A, B>), lane_index());
}

}  // namespace metal::sm
