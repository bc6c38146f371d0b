// Scalar types, and what the declarations of the library ask about types.
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

namespace metal {

template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    typedef T type;
};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;

template <class T>
struct type_identity {
    typedef T type;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

namespace sm {

template <class T>
constexpr bool is_int = false;
template <class T>
constexpr bool is_float = false;
#define SM_IS(kind, T) \
    template <>        \
    constexpr bool kind<T> = true;
SM_IS(is_int, char)
SM_IS(is_int, signed char)
SM_IS(is_int, uchar)
SM_IS(is_int, short)
SM_IS(is_int, ushort)
SM_IS(is_int, int)
SM_IS(is_int, uint)
SM_IS(is_int, long)
SM_IS(is_int, ulong)
SM_IS(is_float, half)
SM_IS(is_float, float)
#undef SM_IS
template <class T>
constexpr bool is_scalar = is_int<T> || is_float<T> || __is_same(T, bool);

// A scalar may meet a vector whose elements can take it: a float is not cut down to an integer.
template <class S, class T>
constexpr bool fits = (is_scalar<S> || __is_enum(S)) && !(is_float<S> && !is_float<T>);

// How many elements an argument of a vector's constructor brings; 0: it is none.
template <class A, class T>
constexpr int width = is_scalar<A> || __is_enum(A) ? 1 : 0;
template <class T, int N>
constexpr int width<vec<T, N>, T> = N;
template <class T, int N>
constexpr int width<packed_vec<T, N>, T> = N;

template <class T>
struct is_vector_type {
    static constexpr bool value = false;
};
template <class T, int N>
struct is_vector_type<vec<T, N>> {
    static constexpr bool value = true;
};

// An element of a vector has an address that no pointer of MSL can hold.
#define SM_ELEMENT __attribute__((address_space(2)))

}  // namespace sm
}  // namespace metal
