// Functions whose results are exact or correctly rounded. What is exact in float is exact for half
// and bfloat too.
#pragma once

namespace metal {
namespace sm {

// Doubles rounded to odd: a second rounding to fewer bits then is as good as one.
template <class D>
SM_FN narrow_like<D> narrowed_to_odd(D exact) {
    typedef narrow_like<D> F;
    typedef integer_like<F> I;
    F near = narrowed(exact);
    D back = widened(near);
    auto inexact = (back != exact) & (back == back);
    // Truncate, then set the last bit.
    I bits = bits_as<I>(near);
    D too_far = magnitude(back) - magnitude(exact);
    F step = narrowed(pick(inexact & (too_far > 0.0), D(1.0), D(0.0)));
    F sticky = narrowed(pick(inexact, D(1.0), D(0.0)));
    return bits_as<F>((bits - to_integer(step)) | to_integer(sticky));
}
// a * b + c with one rounding to float and one to half or bfloat, the first of them to odd. a * b
// is exact in double; what its sum with c loses sets the last bit.
template <class F>
SM_FN F fma_to_odd(F a, F b, F c) {
#pragma clang fp contract(off)
    typedef wide_like<F> D;
    typedef integer_like<D> I;
    D product = widened(a) * widened(b), addend = widened(c);
    D sum = product + addend;
    D from = sum - product;
    D lost = (product - (sum - from)) + (addend - from);
    auto inexact = (lost != 0.0) & (magnitude(sum) < __builtin_inf()) & (lost == lost);
    D down = pick((lost < 0.0) != (sum < 0.0), D(1.0), D(0.0));
    I bits = bits_as<I>(sum);
    D odd = bits_as<D>((bits - to_integer(down)) | 1l);
    // An odd sum already tells that it is not on a boundary.
    auto is_odd = (bits & 1l) != 0;
    return narrowed_to_odd(pick(inexact, pick(is_odd, sum, odd), sum));
}

SM_FN float ldexp_float(float x, int k) {
    k = k < -400 ? -400 : k > 400 ? 400 : k;
    return narrowed(widened(x) * bits_as<double>(static_cast<long>(k + 1023) << 52));
}
template <int N>
SM_FN ext<float, N> ldexp_float(ext<float, N> x, ext<int, N> k) {
    k = __builtin_elementwise_min(__builtin_elementwise_max(k, ext<int, N>(-400)),
                                  ext<int, N>(400));
    auto scale = __builtin_convertvector(k + 1023, ext<long, N>) << 52;
    return narrowed(widened(x) * bits_as<ext<double, N>>(scale));
}

// x = result * 2^k, 1/2 <= |result| < 1.
template <class F>
SM_FN F frexp_float(F x, integer_like<F>& k) {
    typedef integer_like<F> I;
    auto subnormal = magnitude(x) < 0x1p-126f;
    I bits = bits_as<I>(pick(subnormal, x * 0x1p24f, x));
    auto usual = (magnitude(x) < __builtin_inff()) & (x != 0.0f);
    k = ((bits >> 23) & 255) - 126 + pick(subnormal, I(-24), I(0));
    k = pick(usual, k, I(0));
    return pick(usual, bits_as<F>((bits & static_cast<int>(0x807fffff)) | 0x3f000000), x);
}
template <class F>
SM_FN integer_like<F> ilogb_float(F x) {
    typedef integer_like<F> I;
    I k;
    frexp_float(x, k);
    k = pick((x == 0.0f) | (x != x), I(FP_ILOGB0), k - 1);
    return pick(magnitude(x) == __builtin_inff(), I(2147483647), k);
}

// The remainder of |x| / |y|, exactly: mantissas are divided with up to 40 bits of the quotient a
// step.
inline float fmod_magnitude(float x, float y) {
    unsigned bx = __builtin_bit_cast(unsigned, x), by = __builtin_bit_cast(unsigned, y);
    int ex = static_cast<int>(bx >> 23), ey = static_cast<int>(by >> 23);
    unsigned long mx = ex ? (bx & 0x7fffff) | 0x800000 : bx,
                  my = ey ? (by & 0x7fffff) | 0x800000 : by;
    ex = ex ? ex : 1;
    ey = ey ? ey : 1;
    if (ex < ey) return x;
    mx %= my;
    for (int left = ex - ey; left > 0;) {
        int step = left < 40 ? left : 40;
        mx = (mx << step) % my;
        left -= step;
    }
    // mx < my counts in units of y's last place.
    return ldexp_float(static_cast<float>(mx), ey - 150);
}
SM_FN float fmod_float(float x, float y) {
    float ax = magnitude(x), ay = magnitude(y);
    if (!(ax < __builtin_inff()) || !(ay > 0.0f)) return __builtin_nanf("");
    if (!(ay < __builtin_inff()) || ax < ay) return x;
    return with_sign_of(fmod_magnitude(ax, ay), x);
}
template <int N>
SM_FN ext<float, N> fmod_float(ext<float, N> x, ext<float, N> y) {
    ext<float, N> result;
    for (int i = 0; i < N; i++) result[i] = fmod_float(x[i], y[i]);
    return result;
}

// The next number of type E after x towards y, on the bits of E.
template <class E>
SM_FN E next_after(E x, E y) {
    typedef unsigned_bits<E> B;
    constexpr B kSign = static_cast<B>(B(1) << (sizeof(E) * 8 - 1));
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    B bits = __builtin_bit_cast(B, x);
    if (x == static_cast<E>(0.0f)) {
        return __builtin_bit_cast(E, static_cast<B>((__builtin_bit_cast(B, y) & kSign) | 1));
    }
    bool away = (x < y) == (x > static_cast<E>(0.0f));
    return __builtin_bit_cast(E, static_cast<B>(away ? bits + 1 : bits - 1));
}

}  // namespace sm

// ---- Sign, magnitude, rounding to an integral value

#define SM_EXACT_1(name, builtin)                              \
    template <class A>                                         \
    SM_FN sm::float1<A> name(A x) {                            \
        typedef sm::value_of<A> V;                             \
        return sm::from_float<V>(builtin(sm::to_float<V>(x))); \
    }
SM_EXACT_1(fabs, __builtin_elementwise_abs)
SM_EXACT_1(floor, __builtin_elementwise_floor)
SM_EXACT_1(ceil, __builtin_elementwise_ceil)
SM_EXACT_1(trunc, __builtin_elementwise_trunc)
SM_EXACT_1(rint, __builtin_elementwise_roundeven)
SM_EXACT_1(round, __builtin_elementwise_round)
SM_EXACT_1(sqrt, __builtin_elementwise_sqrt)
#undef SM_EXACT_1

// On the bits: converting a NaN to float loses its sign on some targets.
template <class A, class B>
SM_FN sm::float2_of<A, B> copysign(A x, B y) {
    typedef sm::value2<A, B> V;
    typedef sm::unsigned_bits<sm::element_of_t<V>> Bits;
    constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
    V from = x, sign = y;
    if constexpr (sm::shape<V>::lanes == 0) {
        unsigned bits = (__builtin_bit_cast(Bits, from) & static_cast<Bits>(~kSign)) |
                        (__builtin_bit_cast(Bits, sign) & kSign);
        return __builtin_bit_cast(V, static_cast<Bits>(bits));
    } else {
        typedef sm::ext<Bits, sm::shape<V>::lanes> Lanes;
        Lanes bits = (__builtin_bit_cast(Lanes, from.raw()) & static_cast<Bits>(~kSign)) |
                     (__builtin_bit_cast(Lanes, sign.raw()) & kSign);
        return V::of(__builtin_bit_cast(typename V::native, bits));
    }
}

// ---- Arithmetic with one rounding

template <class A, class B>
SM_FN sm::float2_of<A, B> divide(A x, B y) {
    typedef sm::value2<A, B> V;
    return sm::from_float<V>(sm::to_float<V>(x) / sm::to_float<V>(y));
}
template <class A, class B, class C>
SM_FN sm::float3_of<A, B, C> fma(A x, B y, C z) {
    typedef sm::value3<A, B, C> V;
    auto a = sm::to_float<V>(x), b = sm::to_float<V>(y), c = sm::to_float<V>(z);
    if constexpr (__is_same(sm::element_of_t<V>, float))
        return sm::from_float<V>(sm::fma(a, b, c));
    else
        return sm::from_float<V>(sm::fma_to_odd(a, b, c));
}
// x - y, or 0 where that would be negative.
template <class A, class B>
SM_FN sm::float2_of<A, B> fdim(A x, B y) {
    typedef sm::value2<A, B> V;
    auto a = sm::to_float<V>(x), b = sm::to_float<V>(y);
    return sm::from_float<V>(sm::pick(a <= b, decltype(a)(0.0f), a - b));
}
template <class A, class B>
SM_FN sm::float2_of<A, B> fmod(A x, B y) {
    typedef sm::value2<A, B> V;
    return sm::from_float<V>(sm::fmod_float(sm::to_float<V>(x), sm::to_float<V>(y)));
}

// ---- Taking numbers apart

// x - floor(x), kept below 1 in the type of x.
template <class A>
SM_FN sm::float1<A> fract(A x) {
    typedef sm::value_of<A> V;
    typedef sm::element_of_t<V> E;
    auto a = sm::to_float<V>(x);
    auto part = a - __builtin_elementwise_floor(a);
    typedef decltype(part) F;
    constexpr float kBelowOne = 1.0f - static_cast<float>(numeric_limits<E>::epsilon()) / 2;
    return sm::from_float<V>(sm::pick(part > kBelowOne, F(kBelowOne), part));
}
template <class A>
SM_FN sm::float1<A> modf(A x, sm::float1<A>& whole) {
    typedef sm::value_of<A> V;
    auto a = sm::to_float<V>(x);
    auto t = __builtin_elementwise_trunc(a);
    typedef decltype(t) F;
    whole = sm::from_float<V>(t);
    F rest = sm::pick(sm::magnitude(a) == __builtin_inff(), F(0.0f), a - t);
    return sm::from_float<V>(sm::with_sign_of(rest, a));
}
template <class A>
SM_FN sm::float1<A> ldexp(A x, sm::with_element_t<A, int> k) {
    typedef sm::value_of<A> V;
    return sm::from_float<V>(sm::ldexp_float(sm::to_float<V>(x), sm::native_of(k)));
}
template <class A>
SM_FN sm::float1<A> frexp(A x, sm::with_element_t<A, int>& k) {
    typedef sm::value_of<A> V;
    auto a = sm::to_float<V>(x);
    sm::integer_like<decltype(a)> exponent;
    auto fraction = sm::frexp_float(a, exponent);
    k = sm::from_native<sm::with_element_t<A, int>>(exponent);
    return sm::from_float<V>(fraction);
}
template <class A>
SM_FN sm::with_element_t<sm::float1<A>, int> ilogb(A x) {
    typedef sm::value_of<A> V;
    return sm::from_native<sm::with_element_t<A, int>>(sm::ilogb_float(sm::to_float<V>(x)));
}
template <class A, class B>
SM_FN sm::float2_of<A, B> nextafter(A x, B y) {
    typedef sm::value2<A, B> V;
    if constexpr (sm::shape<V>::lanes == 0) {
        return sm::next_after<V>(x, y);
    } else {
        V a = x, b = y, result;
        for (int i = 0; i < sm::shape<V>::lanes; i++) {
            result[i] = sm::next_after<sm::element_of_t<V>>(a[i], b[i]);
        }
        return result;
    }
}

}  // namespace metal
