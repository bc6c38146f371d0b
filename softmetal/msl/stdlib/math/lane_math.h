// Arithmetic that reads the same for one float and for a clang vector of them. F is float or a
// vector of floats; D is double, or a vector of as many.
//
// Programs may be compiled with fast math; these functions count on every operation they write
// down.
#pragma once

namespace metal::sm {

template <class V>
struct lane_traits;
template <>
struct lane_traits<float> {
    typedef int integer;
    typedef double wide;
    static constexpr int lanes = 0;
};
template <>
struct lane_traits<double> {
    typedef long integer;
    typedef float narrow;
    static constexpr int lanes = 0;
};
template <int N>
struct lane_traits<ext<float, N>> {
    typedef ext<int, N> integer;
    typedef ext<double, N> wide;
    static constexpr int lanes = N;
};
template <int N>
struct lane_traits<ext<double, N>> {
    typedef ext<long, N> integer;
    typedef ext<float, N> narrow;
    static constexpr int lanes = N;
};
template <class V>
using integer_like = typename lane_traits<V>::integer;
template <class F>
using wide_like = typename lane_traits<F>::wide;
template <class D>
using narrow_like = typename lane_traits<D>::narrow;

// Comparisons give bool for one value and lanes of all ones or zeros for a vector.
template <class V>
using mask_like = decltype(V() < V());

template <class V>
SM_FN V pick(bool yes, V a, V b) {
    return yes ? a : b;
}
template <class V, class M>
SM_FN V pick(M yes, V a, V b) {
    return yes ? a : b;
}
SM_FN bool any_lane(bool yes) { return yes; }
template <int N>
SM_FN bool any_lane(ext<int, N> yes) {
    return __builtin_reduce_or(yes) != 0;
}
SM_FN bool not_mask(bool yes) { return !yes; }
SM_FN bool not_mask(int yes) { return !yes; }  // of two bools combined
template <class M>
SM_FN M not_mask(M yes) {
    return ~yes;
}

template <class V>
SM_FN V fma(V a, V b, V c) {
    return __builtin_elementwise_fma(a, b, c);
}
template <class V>
SM_FN V magnitude(V a) {
    return __builtin_elementwise_abs(a);
}
template <class V>
SM_FN V with_sign_of(V a, V sign) {
    return __builtin_elementwise_copysign(a, sign);
}
template <class V>
SM_FN V nearest(V a) {
    return __builtin_elementwise_roundeven(a);
}
template <class V>
SM_FN V square_root(V a) {
    return __builtin_elementwise_sqrt(a);
}
// A NaN becomes lo.
template <class V>
SM_FN V into_range(V a, V lo, V hi) {
    return __builtin_elementwise_min(__builtin_elementwise_max(a, lo), hi);
}

template <class To>
SM_FN To bits_as(auto v) {
    return __builtin_bit_cast(To, v);
}

// A float as an integer that orders like it, -0 before 0.
template <class F>
SM_FN integer_like<F> ordered_bits(F a) {
    auto bits = bits_as<integer_like<F>>(a);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}
template <class F>
SM_FN auto is_nan_by_bits(F a) {
    return (bits_as<integer_like<F>>(a) & 0x7fffffff) > 0x7f800000;
}

SM_FN double widened(float a) { return a; }
SM_FN float narrowed(double a) { return static_cast<float>(a); }
SM_FN int to_integer(float a) { return static_cast<int>(a); }
SM_FN long to_integer(double a) { return static_cast<int>(a); }
SM_FN float to_floating(int a) { return static_cast<float>(a); }
SM_FN double to_floating(long a) { return static_cast<double>(static_cast<int>(a)); }
template <int N>
SM_FN ext<double, N> widened(ext<float, N> a) {
    return __builtin_convertvector(a, ext<double, N>);
}
template <int N>
SM_FN ext<float, N> narrowed(ext<double, N> a) {
    return __builtin_convertvector(a, ext<float, N>);
}
// Of integral values that fit an int; lanes of 64 bits go the way most CPUs have an instruction
// for.
template <int N>
SM_FN ext<int, N> to_integer(ext<float, N> a) {
    return __builtin_convertvector(a, ext<int, N>);
}
template <int N>
SM_FN ext<long, N> to_integer(ext<double, N> a) {
    return __builtin_convertvector(__builtin_convertvector(a, ext<int, N>), ext<long, N>);
}
template <int N>
SM_FN ext<float, N> to_floating(ext<int, N> a) {
    return __builtin_convertvector(a, ext<float, N>);
}
template <int N>
SM_FN ext<double, N> to_floating(ext<long, N> a) {
    return __builtin_convertvector(__builtin_convertvector(a, ext<int, N>), ext<double, N>);
}

template <class V>
struct scalar_of {
    typedef V type;
};
template <class E, int N>
struct scalar_of<ext<E, N>> {
    typedef E type;
};

// c0 + c1 x + c2 x^2 + ..., by Horner's rule.
template <class V, class... C>
SM_FN V polynomial(V x, double c0, C... more) {
    V constant = V(static_cast<typename scalar_of<V>::type>(c0));
    if constexpr (sizeof...(C) == 0)
        return constant;
    else
        return fma(polynomial(x, more...), x, constant);
}

}  // namespace metal::sm
