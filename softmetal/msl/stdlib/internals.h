// Names that begin with __metal_: what Apple's own headers are written with. Programs use them too,
// to give a type of theirs the standard functions. The trailing flag of the math functions chooses
// between fast and precise, which are the same here.
#pragma once

#define SM_INTERNAL_MATH(name)            \
    template <class A>                    \
    SM_FN auto __metal_##name(A x, int) { \
        return metal::name(x);            \
    }
#define SM_INTERNAL_MATH_2(name)               \
    template <class A, class B>                \
    SM_FN auto __metal_##name(A x, B y, int) { \
        return metal::name(x, y);              \
    }
#define SM_INTERNAL_MATH_3(name)                    \
    template <class A, class B, class C>            \
    SM_FN auto __metal_##name(A x, B y, C z, int) { \
        return metal::name(x, y, z);                \
    }
SM_INTERNAL_MATH(fabs)
SM_INTERNAL_MATH(acos)
SM_INTERNAL_MATH(acosh)
SM_INTERNAL_MATH(asin)
SM_INTERNAL_MATH(asinh)
SM_INTERNAL_MATH(atan)
SM_INTERNAL_MATH(atanh)
SM_INTERNAL_MATH(ceil)
SM_INTERNAL_MATH(cos)
SM_INTERNAL_MATH(cosh)
SM_INTERNAL_MATH(cospi)
SM_INTERNAL_MATH(exp)
SM_INTERNAL_MATH(exp10)
SM_INTERNAL_MATH(exp2)
SM_INTERNAL_MATH(floor)
SM_INTERNAL_MATH(fract)
SM_INTERNAL_MATH(log)
SM_INTERNAL_MATH(log10)
SM_INTERNAL_MATH(log2)
SM_INTERNAL_MATH(rint)
SM_INTERNAL_MATH(round)
SM_INTERNAL_MATH(rsqrt)
SM_INTERNAL_MATH(saturate)
SM_INTERNAL_MATH(sign)
SM_INTERNAL_MATH(sin)
SM_INTERNAL_MATH(sinh)
SM_INTERNAL_MATH(sinpi)
SM_INTERNAL_MATH(sqrt)
SM_INTERNAL_MATH(tan)
SM_INTERNAL_MATH(tanh)
SM_INTERNAL_MATH(tanpi)
SM_INTERNAL_MATH(trunc)
SM_INTERNAL_MATH_2(atan2)
SM_INTERNAL_MATH_2(divide)
SM_INTERNAL_MATH_2(fmax)
SM_INTERNAL_MATH_2(fmin)
SM_INTERNAL_MATH_2(fmod)
SM_INTERNAL_MATH_2(fdim)
SM_INTERNAL_MATH_2(pow)
SM_INTERNAL_MATH_2(powr)
SM_INTERNAL_MATH_2(ldexp)
SM_INTERNAL_MATH_3(fmax3)
SM_INTERNAL_MATH_3(fmin3)
SM_INTERNAL_MATH_3(fmedian3)
SM_INTERNAL_MATH_3(clamp)
SM_INTERNAL_MATH_3(mix)
#undef SM_INTERNAL_MATH
#undef SM_INTERNAL_MATH_2
#undef SM_INTERNAL_MATH_3

template <class A, class B, class C>
SM_FN auto __metal_fma(A x, B y, C z) {
    return metal::fma(x, y, z);
}
template <class A, class B>
SM_FN auto __metal_nextafter(A x, B y) {
    return metal::nextafter(x, y);
}
template <class A, class K>
SM_FN auto __metal_frexp(A x, K* exponent) {
    return metal::frexp(x, *exponent);
}

#define SM_INTERNAL_SIMD(name)                                                  \
    template <class T>                                                          \
    SM_FN auto __metal_##name(T data, metal::sm::site at = metal::sm::here()) { \
        return metal::name(data, at);                                           \
    }
#define SM_INTERNAL_SIMD_2(name)                                                             \
    template <class T>                                                                       \
    SM_FN auto __metal_##name(T data, ushort lane, metal::sm::site at = metal::sm::here()) { \
        return metal::name(data, lane, at);                                                  \
    }
#define SM_INTERNAL_SIMD_FILL(name)                                           \
    template <class T>                                                        \
    SM_FN auto __metal_##name(T data, T filling, ushort delta, ushort modulo, \
                              metal::sm::site at = metal::sm::here()) {       \
        return metal::name(data, filling, delta, modulo, at);                 \
    }
SM_INTERNAL_SIMD(simd_sum)
SM_INTERNAL_SIMD(simd_product)
SM_INTERNAL_SIMD(simd_min)
SM_INTERNAL_SIMD(simd_max)
SM_INTERNAL_SIMD(simd_and)
SM_INTERNAL_SIMD(simd_or)
SM_INTERNAL_SIMD(simd_xor)
SM_INTERNAL_SIMD(simd_prefix_inclusive_sum)
SM_INTERNAL_SIMD(simd_prefix_inclusive_product)
SM_INTERNAL_SIMD(simd_prefix_exclusive_sum)
SM_INTERNAL_SIMD(simd_prefix_exclusive_product)
SM_INTERNAL_SIMD(simd_broadcast_first)
SM_INTERNAL_SIMD(quad_sum)
SM_INTERNAL_SIMD(quad_product)
SM_INTERNAL_SIMD(quad_min)
SM_INTERNAL_SIMD(quad_max)
SM_INTERNAL_SIMD(quad_broadcast_first)
SM_INTERNAL_SIMD_2(simd_broadcast)
SM_INTERNAL_SIMD_2(simd_shuffle)
SM_INTERNAL_SIMD_2(simd_shuffle_up)
SM_INTERNAL_SIMD_2(simd_shuffle_down)
SM_INTERNAL_SIMD_2(simd_shuffle_xor)
SM_INTERNAL_SIMD_2(simd_shuffle_rotate_up)
SM_INTERNAL_SIMD_2(simd_shuffle_rotate_down)
SM_INTERNAL_SIMD_2(quad_broadcast)
SM_INTERNAL_SIMD_2(quad_shuffle)
SM_INTERNAL_SIMD_2(quad_shuffle_up)
SM_INTERNAL_SIMD_2(quad_shuffle_down)
SM_INTERNAL_SIMD_2(quad_shuffle_xor)
SM_INTERNAL_SIMD_FILL(simd_shuffle_and_fill_up)
SM_INTERNAL_SIMD_FILL(simd_shuffle_and_fill_down)
#undef SM_INTERNAL_SIMD
#undef SM_INTERNAL_SIMD_2
#undef SM_INTERNAL_SIMD_FILL

// The argument only says which integer type is wanted.
template <class T>
SM_FN T __metal_get_thread_index_in_simdgroup(T) {
    return static_cast<T>(metal::sm::lane_index());
}
template <class T>
SM_FN T __metal_get_simdgroup_size(T) {
    return static_cast<T>(SM_SIMD_WIDTH);
}
template <class T>
SM_FN T __metal_get_threads_per_simdgroup(T) {
    return static_cast<T>(SM_SIMD_WIDTH);
}
