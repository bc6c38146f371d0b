// <metal_common>, and the functions that numbers of every kind share: minima, maxima, clamping.
#pragma once

namespace metal {

// ---- Minimum and maximum. A NaN gives way to a number.

// Halfs are compared as integers: clang's builtin for them is a call (runtime.h).
#define SM_EXTREME_2(name, builtin, before)                                               \
    template <class A, class B>                                                           \
    SM_FN constexpr sm::value2<A, B> name(A x, B y) {                                     \
        typedef sm::value2<A, B> V;                                                       \
        if constexpr (sm::shape<V>::lanes == 0) {                                         \
            if (__builtin_is_constant_evaluated()) return V(y) before V(x) ? V(y) : V(x); \
        }                                                                                 \
        if constexpr (__is_same(sm::element_of_t<V>, half)) {                             \
            auto p = sm::to_float<V>(x), q = sm::to_float<V>(y);                          \
            auto first = sm::ordered_bits(p) before sm::ordered_bits(q);                  \
            auto number = sm::pick(sm::is_nan_by_bits(p), q, sm::pick(first, p, q));      \
            return sm::from_float<V>(sm::pick(sm::is_nan_by_bits(q), p, number));         \
        } else if constexpr (sm::is_float_shape<V>) {                                     \
            return sm::from_float<V>(builtin(sm::to_float<V>(x), sm::to_float<V>(y)));    \
        } else {                                                                          \
            return sm::from_native<V>(builtin(sm::native_of(V(x)), sm::native_of(V(y)))); \
        }                                                                                 \
    }
SM_EXTREME_2(min, __builtin_elementwise_min, <)
SM_EXTREME_2(max, __builtin_elementwise_max, >)
#undef SM_EXTREME_2

template <class A, class B>
SM_FN sm::float2_of<A, B> fmin(A x, B y) {
    return metal::min(x, y);
}
template <class A, class B>
SM_FN sm::float2_of<A, B> fmax(A x, B y) {
    return metal::max(x, y);
}

template <class A, class B, class C>
SM_FN constexpr sm::value3<A, B, C> min3(A x, B y, C z) {
    return metal::min(metal::min(x, y), z);
}
template <class A, class B, class C>
SM_FN constexpr sm::value3<A, B, C> max3(A x, B y, C z) {
    return metal::max(metal::max(x, y), z);
}
template <class A, class B, class C>
SM_FN constexpr sm::value3<A, B, C> median3(A x, B y, C z) {
    return metal::max(metal::min(x, y), metal::min(metal::max(x, y), z));
}
template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> fmin3(A x, B y, C z) {
    return metal::min3(x, y, z);
}
template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> fmax3(A x, B y, C z) {
    return metal::max3(x, y, z);
}
template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> fmedian3(A x, B y, C z) {
    return metal::median3(x, y, z);
}
template <class A, class B, class C>
SM_FN constexpr sm::value3<A, B, C> clamp(A x, B lo, C hi) {
    return metal::min(metal::max(x, lo), hi);
}

// ---- Blending

template <class A>
SM_FN sm::float1<A> saturate(A x) {
    typedef sm::value_of<A> V;
    return metal::clamp(V(x), V(0), V(1));
}

template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> mix(A x, B y, C a) {
    typedef sm::value3<A, B, C> V;
    auto from = sm::to_float<V>(x), to = sm::to_float<V>(y);
    return sm::from_float<V>(from + (to - from) * sm::to_float<V>(a));
}
// 1, -1, or the zero that x is; 0 for NaN.
template <class A>
SM_FN sm::float1<A> sign(A x) {
    typedef sm::value_of<A> V;
    auto a = sm::to_float<V>(x);
    typedef decltype(a) F;
    F one = sm::with_sign_of(sm::pick(a == 0.0f, F(0.0f), F(1.0f)), a);
    return sm::from_float<V>(sm::pick(a != a, F(0.0f), one));
}
template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> smoothstep(A lo, B hi, C x) {
    typedef sm::value3<A, B, C> V;
    auto a = sm::to_float<V>(lo), b = sm::to_float<V>(hi), c = sm::to_float<V>(x);
    typedef decltype(a) F;
    F t = sm::into_range((c - a) / (b - a), F(0.0f), F(1.0f));
    return sm::from_float<V>(t * t * (3.0f - 2.0f * t));
}
template <class A, class B>
SM_FN sm::float2_of<A, B> step(A edge, B x) {
    typedef sm::value2<A, B> V;
    auto e = sm::to_float<V>(edge), a = sm::to_float<V>(x);
    typedef decltype(a) F;
    return sm::from_float<V>(sm::pick(a < e, F(0.0f), F(1.0f)));
}

}  // namespace metal
