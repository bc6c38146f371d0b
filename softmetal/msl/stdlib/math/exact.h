// Functions with exact or correctly rounded results: rounding, signs, minima, fma, square roots.
#pragma once

namespace metal {

// ---- Sign and magnitude

template <class A>
SM_FN sm::float1<A> fabs(A x) {
    typedef sm::value_of<A> V;
    return sm::from_float<V>(__builtin_elementwise_abs(sm::to_float<V>(x)));
}
template <class A, class B>
SM_FN sm::float2_of<A, B> copysign(A x, B y) {
    typedef sm::value2<A, B> V;
    return sm::from_float<V>(
        __builtin_elementwise_copysign(sm::to_float<V>(x), sm::to_float<V>(y)));
}

// ---- Rounding to an integral value

#define SM_ROUNDING(name, builtin)                             \
    template <class A>                                         \
    SM_FN sm::float1<A> name(A x) {                            \
        typedef sm::value_of<A> V;                             \
        return sm::from_float<V>(builtin(sm::to_float<V>(x))); \
    }
SM_ROUNDING(floor, __builtin_elementwise_floor)
SM_ROUNDING(ceil, __builtin_elementwise_ceil)
SM_ROUNDING(trunc, __builtin_elementwise_trunc)
SM_ROUNDING(rint, __builtin_elementwise_roundeven)
SM_ROUNDING(round, __builtin_elementwise_round)
SM_ROUNDING(sqrt, __builtin_elementwise_sqrt)
#undef SM_ROUNDING

// ---- Minimum and maximum. A NaN gives way to a number.

#define SM_SELECT_2(name, float_builtin)                                                           \
    template <class A, class B>                                                                    \
    SM_FN sm::value2<A, B> name(A x, B y) {                                                        \
        typedef sm::value2<A, B> V;                                                                \
        if constexpr (sm::is_float_shape<V>) {                                                     \
            return sm::from_float<V>(float_builtin(sm::to_float<V>(V(x)), sm::to_float<V>(V(y)))); \
        } else {                                                                                   \
            return sm::from_native<V>(float_builtin(sm::native_of(V(x)), sm::native_of(V(y))));    \
        }                                                                                          \
    }
SM_SELECT_2(min, __builtin_elementwise_min)
SM_SELECT_2(max, __builtin_elementwise_max)
#undef SM_SELECT_2

}  // namespace metal
