// The operations of SIMD reductions and scans. Bitwise ones take floats by their bits. Halves and
// bfloats are added and multiplied as floats and rounded at the end, so each has a type to work in.
#pragma once

namespace metal::sm {

template <class T>
struct accumulate_in {
    typedef T type;
};
template <>
struct accumulate_in<half> {
    typedef float type;
};
template <>
struct accumulate_in<bfloat> {
    typedef float type;
};
template <class T, int N>
struct accumulate_in<vec<T, N>> {
    typedef vec<typename accumulate_in<T>::type, N> type;
};
template <class T>
using accumulate_t = typename accumulate_in<T>::type;

struct op_sum {
    template <class T>
    SM_FN static constexpr T identity() {
        return T(0);
    }
    template <class T>
    SM_FN static constexpr T apply(T a, T b) {
        return static_cast<T>(a + b);
    }
};
struct op_product {
    template <class T>
    SM_FN static constexpr T identity() {
        return T(1);
    }
    template <class T>
    SM_FN static constexpr T apply(T a, T b) {
        return static_cast<T>(a * b);
    }
};
struct op_min {
    template <class T>
    SM_FN static constexpr T identity() {
        typedef numeric_limits<element_of_t<T>> Limits;
        return T(Limits::has_infinity ? Limits::infinity() : Limits::max());
    }
    template <class T>
    SM_FN static T apply(T a, T b) {
        return metal::min(a, b);
    }
};
struct op_max {
    template <class T>
    SM_FN static constexpr T identity() {
        typedef numeric_limits<element_of_t<T>> Limits;
        return T(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    }
    template <class T>
    SM_FN static T apply(T a, T b) {
        return metal::max(a, b);
    }
};
// a op b on the bits of anything.
#define SM_BITWISE(op)                 \
    typedef decltype(bits_of(a)) Bits; \
    return __builtin_bit_cast(T, static_cast<Bits>(bits_of(a) op bits_of(b)));
template <class T>
SM_FN constexpr auto bits_of(const T& a) {
    typedef unsigned_bits<element_of_t<T>> B;
    if constexpr (shape<T>::lanes == 0)
        return __builtin_bit_cast(B, a);
    else
        return __builtin_bit_cast(ext<B, shape<T>::lanes>, a.raw());
}
template <class T>
SM_FN constexpr T all_bits(bool set) {
    typedef element_of_t<T> E;
    return T(__builtin_bit_cast(E, static_cast<unsigned_bits<E>>(set ? ~0ul : 0ul)));
}
struct op_and {
    template <class T>
    SM_FN static constexpr T identity() {
        return all_bits<T>(true);
    }
    template <class T>
    SM_FN static constexpr T apply(T a, T b) {
        SM_BITWISE(&)
    }
};
struct op_or {
    template <class T>
    SM_FN static constexpr T identity() {
        return all_bits<T>(false);
    }
    template <class T>
    SM_FN static constexpr T apply(T a, T b) {
        SM_BITWISE(|)
    }
};
struct op_xor {
    template <class T>
    SM_FN static constexpr T identity() {
        return all_bits<T>(false);
    }
    template <class T>
    SM_FN static constexpr T apply(T a, T b) {
        SM_BITWISE(^)
    }
};
#undef SM_BITWISE

}  // namespace metal::sm
