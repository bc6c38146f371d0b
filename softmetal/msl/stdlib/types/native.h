// What a vector of ours holds: clang's extended vectors, and how their elements convert. Vectors of
// bool hold bytes 0 and 1 (MSL's sizeof(bool4) is 4; clang's own would be 1).
#pragma once

#define SM_FN inline __attribute__((always_inline))

namespace metal::sm {

template <class T>
struct element_of {
    typedef T type;
};
template <>
struct element_of<bool> {
    typedef unsigned char type;
};
template <class T>
using element_t = typename element_of<T>::type;

template <class E, int N>
using ext = E __attribute__((ext_vector_type(N)));
template <class T, int N>
using native_t = ext<element_t<T>, N>;

template <class E, int N>
struct elements {
    E at[N];
};

// A lane of a vector, also in constant expressions, where clang 19 cannot index one.
template <int I, class E, int N>
SM_FN constexpr E lane_of(ext<E, N> v) {
    if (__builtin_is_constant_evaluated()) {
        return __builtin_bit_cast(elements<E, sizeof(v) / sizeof(E)>, v).at[I];
    }
    return v[I];
}

template <class E, int N>
SM_FN constexpr ext<E, N> with_lane(ext<E, N> v, int lane, E value) {
    if (__builtin_is_constant_evaluated()) {
        auto all = __builtin_bit_cast(elements<E, sizeof(v) / sizeof(E)>, v);
        all.at[lane] = value;
        return __builtin_bit_cast(ext<E, N>, all);
    }
    v[lane] = value;
    return v;
}

// ---- bfloat through integers: no target but the newest has instructions for it, and the helpers
// that clang would call handle one lane at a time.

template <int N>
SM_FN constexpr ext<float, N> bfloat_to_float(ext<bfloat, N> v) {
    auto bits = __builtin_bit_cast(ext<unsigned short, N>, v);
    return __builtin_bit_cast(ext<float, N>, __builtin_convertvector(bits, ext<unsigned, N>)
                                                 << 16u);
}

// Rounds to nearest even. A NaN stays one: its quiet bit is set so that no payload rounds to
// infinity.
template <int N>
SM_FN constexpr ext<bfloat, N> float_to_bfloat(ext<float, N> v) {
    auto bits = __builtin_bit_cast(ext<unsigned, N>, v);
    ext<unsigned, N> rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    ext<unsigned, N> nan = (bits >> 16u) | 0x40u;
    auto is_nan = __builtin_bit_cast(ext<unsigned, N>, v != v);
    ext<unsigned, N> merged = (rounded & ~is_nan) | (nan & is_nan);
    return __builtin_bit_cast(ext<bfloat, N>,
                              __builtin_convertvector(merged, ext<unsigned short, N>));
}

// The type arithmetic on E is done in, and the way there and back.
template <class E, int N>
SM_FN constexpr auto widen(ext<E, N> v) {
    if constexpr (__is_same(E, bfloat))
        return bfloat_to_float<N>(v);
    else
        return v;
}
template <class E, int N, class W>
SM_FN constexpr ext<E, N> narrow(ext<W, N> v) {
    if constexpr (__is_same(E, bfloat) && __is_same(W, float))
        return float_to_bfloat<N>(v);
    else if constexpr (__is_same(E, W))
        return v;
    else
        return __builtin_convertvector(v, ext<E, N>);
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
    Mask nan = __builtin_convertvector(v != v, Mask);
    ext<int, N> outside = (v >= kAbove) | (v != v);
    ext<int, N> below = v < kLow;
    auto bits = __builtin_bit_cast(ext<int, N>, v);
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
        return convert<To, float, N>(bfloat_to_float<N>(v));
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

template <class To, class From>
SM_FN constexpr To convert_scalar(From x) {
    if constexpr (__is_same(From, double))
        return static_cast<To>(static_cast<float>(x));
    else
        return static_cast<To>(x);
}

}  // namespace metal::sm
