// <metal_math>: the transcendental functions, for every shape.
#pragma once

namespace metal {

#define SM_MATH_1(name, core)                                   \
    template <class A>                                          \
    SM_FN sm::float1<A> name(A x) {                             \
        typedef sm::value_of<A> V;                              \
        return sm::from_float<V>(sm::core(sm::to_float<V>(x))); \
    }
#define SM_MATH_2(name, core)                                                       \
    template <class A, class B>                                                     \
    SM_FN sm::float2_of<A, B> name(A x, B y) {                                      \
        typedef sm::value2<A, B> V;                                                 \
        return sm::from_float<V>(sm::core(sm::to_float<V>(x), sm::to_float<V>(y))); \
    }
SM_MATH_1(exp, exp_float)
SM_MATH_1(exp2, exp2_float)
SM_MATH_1(exp10, exp10_float)
SM_MATH_1(log, log_float)
SM_MATH_1(log2, log2_float)
SM_MATH_1(log10, log10_float)
SM_MATH_1(sin, sin_float)
SM_MATH_1(cos, cos_float)
SM_MATH_1(tan, tan_float)
SM_MATH_1(sinpi, sinpi_float)
SM_MATH_1(cospi, cospi_float)
SM_MATH_1(tanpi, tanpi_float)
SM_MATH_1(asin, asin_float)
SM_MATH_1(acos, acos_float)
SM_MATH_1(atan, atan_float)
SM_MATH_1(sinh, sinh_float)
SM_MATH_1(cosh, cosh_float)
SM_MATH_1(tanh, tanh_float)
SM_MATH_1(asinh, asinh_float)
SM_MATH_1(acosh, acosh_float)
SM_MATH_1(atanh, atanh_float)
SM_MATH_2(atan2, atan2_float)
SM_MATH_2(pow, pow_float)
SM_MATH_2(powr, powr_float)
#undef SM_MATH_1
#undef SM_MATH_2

template <class A>
SM_FN sm::float1<A> rsqrt(A x) {
    typedef sm::value_of<A> V;
    return sm::from_float<V>(1.0f / sm::square_root(sm::to_float<V>(x)));
}
template <class A>
SM_FN sm::float1<A> sincos(A x, sm::float1<A>& cosine) {
    typedef sm::value_of<A> V;
    auto a = sm::to_float<V>(x);
    decltype(a) c;
    auto s = sm::sincos_float(a, c);
    cosine = sm::from_float<V>(c);
    return sm::from_float<V>(s);
}

}  // namespace metal
