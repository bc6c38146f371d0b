// The compiler's own functions that Apple's headers are written with. Programs use them to give a
// type of theirs the standard functions; the last argument chooses between fast and precise.
#pragma once

#define SM_MATH_1(name) \
    template <class A>  \
    A __metal_##name(A x, int);
#define SM_MATH_2(name) \
    template <class A>  \
    A __metal_##name(A x, A y, int);
#define SM_MATH_3(name) \
    template <class A>  \
    A __metal_##name(A x, A y, A z, int);
SM_MATH_1(fabs)
SM_MATH_1(acos)
SM_MATH_1(acosh)
SM_MATH_1(asin)
SM_MATH_1(asinh)
SM_MATH_1(atan)
SM_MATH_1(atanh)
SM_MATH_1(ceil)
SM_MATH_1(cos)
SM_MATH_1(cosh)
SM_MATH_1(cospi)
SM_MATH_1(exp)
SM_MATH_1(exp10)
SM_MATH_1(exp2)
SM_MATH_1(floor)
SM_MATH_1(fract)
SM_MATH_1(log)
SM_MATH_1(log10)
SM_MATH_1(log2)
SM_MATH_1(rint)
SM_MATH_1(round)
SM_MATH_1(rsqrt)
SM_MATH_1(saturate)
SM_MATH_1(sign)
SM_MATH_1(sin)
SM_MATH_1(sinh)
SM_MATH_1(sinpi)
SM_MATH_1(sqrt)
SM_MATH_1(tan)
SM_MATH_1(tanh)
SM_MATH_1(tanpi)
SM_MATH_1(trunc)
SM_MATH_2(atan2)
SM_MATH_2(divide)
SM_MATH_2(fmax)
SM_MATH_2(fmin)
SM_MATH_2(fmod)
SM_MATH_2(fdim)
SM_MATH_2(pow)
SM_MATH_2(powr)
SM_MATH_3(fmax3)
SM_MATH_3(fmin3)
SM_MATH_3(fmedian3)
SM_MATH_3(clamp)
SM_MATH_3(mix)
#undef SM_MATH_1
#undef SM_MATH_2
#undef SM_MATH_3
template <class A>
A __metal_fma(A x, A y, A z);
template <class A>
A __metal_nextafter(A x, A y);
template <class A>
A __metal_ldexp(A x, int k, int);
template <class A>
A __metal_frexp(A x, thread int* exponent);

#define SM_LANES(name) \
    template <class T> \
    T __metal_##name(T data);
#define SM_LANES_2(name) \
    template <class T>   \
    T __metal_##name(T data, ushort lane);
SM_LANES(simd_sum)
SM_LANES(simd_product)
SM_LANES(simd_min)
SM_LANES(simd_max)
SM_LANES(simd_and)
SM_LANES(simd_or)
SM_LANES(simd_xor)
SM_LANES(simd_prefix_inclusive_sum)
SM_LANES(simd_prefix_inclusive_product)
SM_LANES(simd_prefix_exclusive_sum)
SM_LANES(simd_prefix_exclusive_product)
SM_LANES(simd_broadcast_first)
SM_LANES(quad_sum)
SM_LANES(quad_product)
SM_LANES(quad_min)
SM_LANES(quad_max)
SM_LANES(quad_broadcast_first)
SM_LANES_2(simd_broadcast)
SM_LANES_2(simd_shuffle)
SM_LANES_2(simd_shuffle_up)
SM_LANES_2(simd_shuffle_down)
SM_LANES_2(simd_shuffle_xor)
SM_LANES_2(simd_shuffle_rotate_up)
SM_LANES_2(simd_shuffle_rotate_down)
SM_LANES_2(quad_broadcast)
SM_LANES_2(quad_shuffle)
SM_LANES_2(quad_shuffle_up)
SM_LANES_2(quad_shuffle_down)
SM_LANES_2(quad_shuffle_xor)
#undef SM_LANES
#undef SM_LANES_2
template <class T>
T __metal_simd_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo);
template <class T>
T __metal_simd_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo);

// The argument only says which integer type is wanted.
template <class T>
T __metal_get_thread_index_in_simdgroup(T);
template <class T>
T __metal_get_simdgroup_size(T);
template <class T>
T __metal_get_threads_per_simdgroup(T);
