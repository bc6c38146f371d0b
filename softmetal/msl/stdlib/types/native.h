// What a vector of ours holds: clang's extended vectors, and how their elements convert. Vectors of
// bool hold bytes 0 and 1 (MSL's sizeof(bool4) is 4; clang's own would be 1), those of bfloat its
// bits.
#pragma once

namespace metal::sm {

template <class T>
struct element_of {
    typedef T type;
};
template <>
struct element_of<bool> {
    typedef unsigned char type;
};
template <>
struct element_of<bfloat> {
    typedef unsigned short type;
};
template <class T>
using element_t = typename element_of<T>::type;

template <class E, int N>
using ext = E __attribute__((ext_vector_type(N)));
template <class T, int N>
using native_t = ext<element_t<T>, N>;

// The elements of a vector one by one, for constant expressions; a vector of three lanes has four.
template <class T, int N>
struct elements {
    T at[N];
};
template <class T, int N>
SM_FN constexpr auto to_elements(native_t<T, N> v) {
    if constexpr (N == 3)
        return __builtin_bit_cast(elements<T, 4>, __builtin_shufflevector(v, v, 0, 1, 2, 2));
    else
        return __builtin_bit_cast(elements<T, N>, v);
}
template <class T, int N, class E>
SM_FN constexpr native_t<T, N> from_elements(const E& e) {
    if constexpr (N == 3) {
        auto v = __builtin_bit_cast(native_t<T, 4>, e);
        return __builtin_shufflevector(v, v, 0, 1, 2);
    } else {
        return __builtin_bit_cast(native_t<T, N>, e);
    }
}

template <class T>
SM_FN constexpr element_t<T> to_element(T a) {
    return __builtin_bit_cast(element_t<T>, a);
}

// Operations are done on floats where elements are bfloats, and on the elements themselves
// otherwise. No target but the newest has bfloat instructions, and the helpers that clang would
// call handle one lane at a time.
template <class T, int N>
SM_FN constexpr auto widen(native_t<T, N> v) {
    if constexpr (__is_same(T, bfloat)) {
        return __builtin_bit_cast(ext<float, N>, __builtin_convertvector(v, ext<unsigned, N>)
                                                     << 16u);
    } else {
        return v;
    }
}
// As bfloat's own rounding.
template <int N>
SM_FN constexpr native_t<bfloat, N> float_to_bfloat(ext<float, N> v) {
    auto bits = __builtin_bit_cast(ext<unsigned, N>, v);
    ext<unsigned, N> nearest = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    ext<unsigned, N> nan = (bits >> 16u) | 0x40u;
    auto is_nan = __builtin_bit_cast(ext<unsigned, N>, (bits & 0x7fffffffu) > 0x7f800000u);
    return __builtin_convertvector((nearest & ~is_nan) | (nan & is_nan), native_t<bfloat, N>);
}
template <class T, int N, class W>
SM_FN constexpr native_t<T, N> narrow(W v) {
    if constexpr (__is_same(T, bfloat))
        return float_to_bfloat<N>(v);
    else
        return v;
}

// ---- Conversions between element types

template <class E>
inline constexpr bool is_signed_element = E(-1) < E(0);

// Float to integer saturates and turns NaN into 0, as GPUs do; MSL leaves it undefined.
template <class To, int N>
SM_FN constexpr ext<To, N> float_to_int(ext<float, N> v) {
    constexpr int kBits = sizeof(To) * 8 - (is_signed_element<To> ? 1 : 0);
    constexpr float kAbove = kBits == 64   ? 0x1p64f
                             : kBits == 63 ? 0x1p63f
                                           : static_cast<float>(1ul << (kBits & 63));
    constexpr float kLow = is_signed_element<To> ? -kAbove : 0.0f;
    constexpr To kMax = static_cast<To>(is_signed_element<To> ? (1ul << (kBits & 63)) - 1 : ~0ul);
    typedef ext<signed_bits<To>, N> Mask;
    Mask above = __builtin_convertvector(v >= kAbove, Mask);
    // Asked of the bits, which keeps clang from asking each half for itself when v was half.
    auto bits = __builtin_bit_cast(ext<int, N>, v);
    ext<int, N> is_nan = (bits & 0x7fffffff) > 0x7f800000;
    Mask nan = __builtin_convertvector(is_nan, Mask);
    ext<int, N> outside = (v >= kAbove) | is_nan;
    ext<int, N> below = v < kLow;
    constexpr int kLowBits = __builtin_bit_cast(int, kLow);
    bits = (bits & ~outside & ~below) | (below & kLowBits);
    auto inside = __builtin_convertvector(__builtin_bit_cast(ext<float, N>, bits), ext<To, N>);
    auto result = __builtin_bit_cast(Mask, inside);
    result = (result & ~above) | (above & static_cast<signed_bits<To>>(kMax));
    return __builtin_bit_cast(ext<To, N>, result & ~nan);
}

template <class To, class From, int N>
SM_FN constexpr native_t<To, N> convert(native_t<From, N> v) {
    if constexpr (__is_same(To, From)) {
        return v;
    } else if constexpr (__is_same(From, bfloat)) {
        return convert<To, float, N>(widen<bfloat, N>(v));
    } else if constexpr (__is_same(To, bool)) {
        return __builtin_convertvector(v != 0, native_t<bool, N>) & static_cast<unsigned char>(1);
    } else if constexpr (__is_same(To, bfloat)) {
        return float_to_bfloat<N>(__builtin_convertvector(v, ext<float, N>));
    } else if constexpr (is_int_scalar<To> && __is_same(From, half)) {
        return float_to_int<To, N>(__builtin_convertvector(v, ext<float, N>));
    } else if constexpr (is_int_scalar<To> && __is_same(From, float)) {
        return float_to_int<To, N>(v);
    } else {
        return __builtin_convertvector(v, native_t<To, N>);
    }
}

// A scalar as element type T; C++'s double, which MSL does not have, is float.
template <class T, class From>
SM_FN constexpr T convert_scalar(From x) {
    if constexpr (__is_same(From, double))
        return static_cast<T>(static_cast<float>(x));
    else
        return static_cast<T>(x);
}

}  // namespace metal::sm
