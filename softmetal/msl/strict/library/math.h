// <metal_math>, <metal_common>, <metal_geometric>, <metal_relational>: overloads for the types
// that MSL lists, so that a call that is ambiguous there is ambiguous here.
#pragma once

namespace metal {

// The argument V is a scalar or a vector, I and B the same shape of int and bool.
template <class V, class E>
struct like {
    typedef E type;
};
template <class T, int N, class E>
struct like<vec<T, N>, E> {
    typedef vec<E, N> type;
};

#define SM_MATH(V)                                     \
    V acos(V x);                                       \
    V acosh(V x);                                      \
    V asin(V x);                                       \
    V asinh(V x);                                      \
    V atan(V x);                                       \
    V atan2(V y, V x);                                 \
    V atanh(V x);                                      \
    V ceil(V x);                                       \
    V copysign(V x, V y);                              \
    V cos(V x);                                        \
    V cosh(V x);                                       \
    V cospi(V x);                                      \
    V divide(V x, V y);                                \
    V exp(V x);                                        \
    V exp2(V x);                                       \
    V exp10(V x);                                      \
    V fabs(V x);                                       \
    V abs(V x);                                        \
    V fdim(V x, V y);                                  \
    V floor(V x);                                      \
    V fma(V a, V b, V c);                              \
    V fmax(V x, V y);                                  \
    V fmax3(V x, V y, V z);                            \
    V fmedian3(V x, V y, V z);                         \
    V fmin(V x, V y);                                  \
    V fmin3(V x, V y, V z);                            \
    V fmod(V x, V y);                                  \
    V fract(V x);                                      \
    V frexp(V x, thread like<V, int>::type& exponent); \
    like<V, int>::type ilogb(V x);                     \
    V ldexp(V x, like<V, int>::type k);                \
    V log(V x);                                        \
    V log2(V x);                                       \
    V log10(V x);                                      \
    constexpr V max(V x, V y);                         \
    V max3(V x, V y, V z);                             \
    V median3(V x, V y, V z);                          \
    constexpr V min(V x, V y);                         \
    V min3(V x, V y, V z);                             \
    V modf(V x, thread V& whole);                      \
    V nextafter(V x, V y);                             \
    V pow(V x, V y);                                   \
    V powr(V x, V y);                                  \
    V rint(V x);                                       \
    V round(V x);                                      \
    V rsqrt(V x);                                      \
    V sin(V x);                                        \
    V sincos(V x, thread V& cosine);                   \
    V sinh(V x);                                       \
    V sinpi(V x);                                      \
    V sqrt(V x);                                       \
    V tan(V x);                                        \
    V tanh(V x);                                       \
    V tanpi(V x);                                      \
    V trunc(V x);                                      \
    constexpr V clamp(V x, V low, V high);             \
    V mix(V x, V y, V a);                              \
    V saturate(V x);                                   \
    V sign(V x);                                       \
    V smoothstep(V low, V high, V x);                  \
    V step(V edge, V x);

#define SM_RELATIONAL(V)                          \
    like<V, bool>::type isfinite(V x);            \
    like<V, bool>::type isinf(V x);               \
    like<V, bool>::type isnan(V x);               \
    like<V, bool>::type isnormal(V x);            \
    like<V, bool>::type signbit(V x);             \
    like<V, bool>::type isordered(V x, V y);      \
    like<V, bool>::type isunordered(V x, V y);    \
    like<V, bool>::type isequal(V x, V y);        \
    like<V, bool>::type isnotequal(V x, V y);     \
    like<V, bool>::type isgreater(V x, V y);      \
    like<V, bool>::type isgreaterequal(V x, V y); \
    like<V, bool>::type isless(V x, V y);         \
    like<V, bool>::type islessequal(V x, V y);    \
    like<V, bool>::type islessgreater(V x, V y);

#define SM_GEOMETRIC(T, N)                                           \
    T distance(vec<T, N> x, vec<T, N> y);                            \
    T distance_squared(vec<T, N> x, vec<T, N> y);                    \
    T dot(vec<T, N> x, vec<T, N> y);                                 \
    T length(vec<T, N> x);                                           \
    T length_squared(vec<T, N> x);                                   \
    T norm(vec<T, N> x);                                             \
    vec<T, N> normalize(vec<T, N> x);                                \
    vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> nref); \
    vec<T, N> reflect(vec<T, N> i, vec<T, N> n);                     \
    vec<T, N> refract(vec<T, N> i, vec<T, N> n, T eta);

#define SM_VECTORS(M, T) M(T##2) M(T##3) M(T##4)
#define SM_EACH(M, T) M(T) SM_VECTORS(M, T)
SM_EACH(SM_MATH, half)
SM_EACH(SM_MATH, float)
SM_EACH(SM_RELATIONAL, half)
SM_EACH(SM_RELATIONAL, float)
SM_GEOMETRIC(half, 2)
SM_GEOMETRIC(half, 3)
SM_GEOMETRIC(half, 4)
SM_GEOMETRIC(float, 2)
SM_GEOMETRIC(float, 3)
SM_GEOMETRIC(float, 4)
half3 cross(half3 x, half3 y);
float3 cross(float3 x, float3 y);

// The families by name compute in float.
namespace fast {
SM_EACH(SM_MATH, float)
SM_EACH(SM_RELATIONAL, float)
SM_GEOMETRIC(float, 2)
SM_GEOMETRIC(float, 3)
SM_GEOMETRIC(float, 4)
}  // namespace fast
namespace precise {
SM_EACH(SM_MATH, float)
SM_EACH(SM_RELATIONAL, float)
SM_GEOMETRIC(float, 2)
SM_GEOMETRIC(float, 3)
SM_GEOMETRIC(float, 4)
}  // namespace precise
#undef SM_MATH
#undef SM_RELATIONAL
#undef SM_GEOMETRIC

// ---- Integers

#define SM_INTEGER(V)                                        \
    constexpr V abs(V x);                                    \
    V addsat(V x, V y);                                      \
    constexpr V clamp(V x, V low, V high);                   \
    V clz(V x);                                              \
    V ctz(V x);                                              \
    V extract_bits(V x, uint offset, uint bits);             \
    V hadd(V x, V y);                                        \
    V insert_bits(V base, V insert, uint offset, uint bits); \
    V madhi(V a, V b, V c);                                  \
    V madsat(V a, V b, V c);                                 \
    constexpr V max(V x, V y);                               \
    V max3(V x, V y, V z);                                   \
    V median3(V x, V y, V z);                                \
    constexpr V min(V x, V y);                               \
    V min3(V x, V y, V z);                                   \
    V mulhi(V x, V y);                                       \
    V popcount(V x);                                         \
    V reverse_bits(V x);                                     \
    V rhadd(V x, V y);                                       \
    V rotate(V v, V i);                                      \
    V subsat(V x, V y);
SM_EACH(SM_INTEGER, char)
SM_EACH(SM_INTEGER, uchar)
SM_EACH(SM_INTEGER, short)
SM_EACH(SM_INTEGER, ushort)
SM_EACH(SM_INTEGER, int)
SM_EACH(SM_INTEGER, uint)
SM_EACH(SM_INTEGER, long)
SM_EACH(SM_INTEGER, ulong)
#undef SM_INTEGER
#define SM_24(V)       \
    V mul24(V x, V y); \
    V mad24(V x, V y, V z);
SM_EACH(SM_24, int)
SM_EACH(SM_24, uint)
#undef SM_24
#define SM_ABSDIFF(T, U)                         \
    U absdiff(T x, T y);                         \
    vec<U, 2> absdiff(vec<T, 2> x, vec<T, 2> y); \
    vec<U, 3> absdiff(vec<T, 3> x, vec<T, 3> y); \
    vec<U, 4> absdiff(vec<T, 4> x, vec<T, 4> y);
SM_ABSDIFF(char, uchar)
SM_ABSDIFF(uchar, uchar)
SM_ABSDIFF(short, ushort)
SM_ABSDIFF(ushort, ushort)
SM_ABSDIFF(int, uint)
SM_ABSDIFF(uint, uint)
SM_ABSDIFF(long, ulong)
SM_ABSDIFF(ulong, ulong)
#undef SM_ABSDIFF

// ---- Selection

bool any(bool x);
bool all(bool x);
template <int N>
bool any(vec<bool, N> x);
template <int N>
bool all(vec<bool, N> x);
#define SM_SELECT(V) constexpr V select(V a, V b, like<V, bool>::type c);
SM_EACH(SM_SELECT, bool)
SM_EACH(SM_SELECT, char)
SM_EACH(SM_SELECT, uchar)
SM_EACH(SM_SELECT, short)
SM_EACH(SM_SELECT, ushort)
SM_EACH(SM_SELECT, int)
SM_EACH(SM_SELECT, uint)
SM_EACH(SM_SELECT, long)
SM_EACH(SM_SELECT, ulong)
SM_EACH(SM_SELECT, half)
SM_EACH(SM_SELECT, bfloat)
SM_EACH(SM_SELECT, float)
#undef SM_SELECT

// ---- Packing

#define SM_PACK(name, R, N)                  \
    R pack_float_to_##name(vec<float, N> v); \
    R pack_half_to_##name(vec<half, N> v);
#define SM_UNPACK(name, R, N)                    \
    vec<float, N> unpack_##name##_to_float(R x); \
    vec<half, N> unpack_##name##_to_half(R x);
SM_PACK(unorm4x8, uint, 4)
SM_PACK(snorm4x8, uint, 4)
SM_PACK(srgb_unorm4x8, uint, 4)
SM_PACK(unorm2x16, uint, 2)
SM_PACK(snorm2x16, uint, 2)
SM_PACK(unorm10a2, uint, 4)
SM_PACK(unorm565, ushort, 3)
SM_UNPACK(unorm4x8, uint, 4)
SM_UNPACK(snorm4x8, uint, 4)
SM_UNPACK(unorm4x8_srgb, uint, 4)
SM_UNPACK(unorm2x16, uint, 2)
SM_UNPACK(snorm2x16, uint, 2)
SM_UNPACK(unorm10a2, uint, 4)
SM_UNPACK(unorm565, ushort, 3)
#undef SM_PACK
#undef SM_UNPACK

}  // namespace metal
