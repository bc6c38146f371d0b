// MSL's scalar type names, and the sets of them that the library's functions are written for.
#pragma once

#define SM_FN inline __attribute__((always_inline))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;

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
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using ::ulong;
using ::ushort;

namespace sm {
template <class T>
inline constexpr bool is_int_scalar = false;
template <>
inline constexpr bool is_int_scalar<char> = true;
template <>
inline constexpr bool is_int_scalar<signed char> = true;
template <>
inline constexpr bool is_int_scalar<unsigned char> = true;
template <>
inline constexpr bool is_int_scalar<short> = true;
template <>
inline constexpr bool is_int_scalar<unsigned short> = true;
template <>
inline constexpr bool is_int_scalar<int> = true;
template <>
inline constexpr bool is_int_scalar<unsigned int> = true;
template <>
inline constexpr bool is_int_scalar<long> = true;
template <>
inline constexpr bool is_int_scalar<unsigned long> = true;
template <>
inline constexpr bool is_int_scalar<long long> = true;
template <>
inline constexpr bool is_int_scalar<unsigned long long> = true;

template <class T>
inline constexpr bool is_float_scalar = false;
template <>
inline constexpr bool is_float_scalar<half> = true;
template <>
inline constexpr bool is_float_scalar<float> = true;

template <class T>
inline constexpr bool is_scalar = is_int_scalar<T> || is_float_scalar<T> || __is_same(T, bool);

// What may stand where MSL wants a scalar: unscoped enumerations too, and C++'s double, which MSL
// does not have.
template <class T>
concept Scalar = is_scalar<T> || __is_enum(T) || __is_same(T, double);

template <int Bytes>
struct signed_of_size;
template <>
struct signed_of_size<1> {
    typedef signed char type;
};
template <>
struct signed_of_size<2> {
    typedef short type;
};
template <>
struct signed_of_size<4> {
    typedef int type;
};
template <>
struct signed_of_size<8> {
    typedef long type;
};
template <int Bytes>
struct unsigned_of_size;
template <>
struct unsigned_of_size<1> {
    typedef unsigned char type;
};
template <>
struct unsigned_of_size<2> {
    typedef unsigned short type;
};
template <>
struct unsigned_of_size<4> {
    typedef unsigned int type;
};
template <>
struct unsigned_of_size<8> {
    typedef unsigned long type;
};
template <class T>
using signed_bits = typename signed_of_size<sizeof(T)>::type;
template <class T>
using unsigned_bits = typename unsigned_of_size<sizeof(T)>::type;
}  // namespace sm
}  // namespace metal
