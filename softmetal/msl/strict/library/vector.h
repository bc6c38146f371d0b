// vec<T, N> and packed_vec<T, N>: conversions between vectors are explicit, a scalar spreads over
// a vector, swizzles read and write, and components have no address.
#pragma once

#define SM_FN
#include "softmetal/msl/stdlib/types/swizzle.h"

// One component; a property, because it has no address.
#define SM_COMPONENT(i, x1, r1)                                \
    constexpr T get_##x1() const { return this->each[i]; }     \
    constexpr void put_##x1(T a) { this->each[i] = a; }        \
    __declspec(property(get = get_##x1, put = put_##x1)) T x1; \
    __declspec(property(get = get_##x1, put = put_##x1)) T r1;
#define SM_COMPONENTS_2 SM_COMPONENT(0, x, r) SM_COMPONENT(1, y, g)
#define SM_COMPONENTS_3 SM_COMPONENTS_2 SM_COMPONENT(2, z, b)
#define SM_COMPONENTS_4 SM_COMPONENTS_3 SM_COMPONENT(3, w, a)

namespace metal {
namespace sm {

template <class T, int N, int Alignment>
struct alignas(Alignment) storage {
    T each[N];

    template <int... I>
    static constexpr bool distinct() {
        unsigned seen = 0;
        bool out = true;
        ((out = out && !(seen & 1u << I), seen |= 1u << I), ...);
        return out;
    }
    template <int... I>
    constexpr vec<T, sizeof...(I)> lanes() const {
        return vec<T, sizeof...(I)>(each[I]...);
    }
    template <int... I>
    constexpr void put_lanes(vec<T, sizeof...(I)> a) {
        static_assert(distinct<I...>(),
                      "a swizzle that names a component twice cannot be assigned");
        int from = 0;
        ((each[I] = a.each[from++]), ...);
    }
};

}  // namespace sm

#define SM_VECTOR_ASSIGN(Vector, op)                        \
    template <class S, class = enable_if_t<sm::fits<S, T>>> \
    Vector& operator op##=(S s);                            \
    Vector& operator op##=(vec<T, sm_width> v);

#define SM_VECTOR_COMMON(Vector, N, Alignment)                                                     \
    static constexpr int sm_width = N;                                                             \
    typedef sm::storage<T, N, Alignment> Base;                                                     \
    Vector() = default;                                                                            \
    constexpr Vector(T s) : Base() {                                                               \
        for (int i = 0; i < N; i++) this->each[i] = s;                                             \
    }                                                                                              \
    template <class A, class B, class... C,                                                        \
              class =                                                                              \
                  enable_if_t<(sm::width<A, T> != 0 && sm::width<B, T> != 0 &&                     \
                               ((sm::width<C, T> != 0) && ...) &&                                  \
                               ((sm::width<A, T> + sm::width<B, T>)+... + sm::width<C, T>) == N)>> \
    constexpr Vector(A a, B b, C... c) : Base() {                                                  \
        int at = 0;                                                                                \
        put_part(at, a);                                                                           \
        put_part(at, b);                                                                           \
        (put_part(at, c), ...);                                                                    \
    }                                                                                              \
    template <class S>                                                                             \
    constexpr void put_part(int& at, S s) {                                                        \
        this->each[at++] = static_cast<T>(s);                                                      \
    }                                                                                              \
    template <int M>                                                                               \
    constexpr void put_part(int& at, vec<T, M> v) {                                                \
        for (int i = 0; i < M; i++) this->each[at++] = v.each[i];                                  \
    }                                                                                              \
    template <int M>                                                                               \
    constexpr void put_part(int& at, packed_vec<T, M> v) {                                         \
        for (int i = 0; i < M; i++) this->each[at++] = v.each[i];                                  \
    }                                                                                              \
    constexpr T operator[](size_t i) const { return this->each[i]; }                               \
    SM_ELEMENT T& operator[](size_t i);                                                            \
    SM_VECTOR_ASSIGN(Vector, +)                                                                    \
    SM_VECTOR_ASSIGN(Vector, -)                                                                    \
    SM_VECTOR_ASSIGN(Vector, *)                                                                    \
    SM_VECTOR_ASSIGN(Vector, /)                                                                    \
    SM_VECTOR_ASSIGN(Vector, %)                                                                    \
    SM_VECTOR_ASSIGN(Vector, &)                                                                    \
    SM_VECTOR_ASSIGN(Vector, |)                                                                    \
    SM_VECTOR_ASSIGN(Vector, ^)                                                                    \
    SM_VECTOR_ASSIGN(Vector, <<)                                                                   \
    SM_VECTOR_ASSIGN(Vector, >>)                                                                   \
    SM_COMPONENTS_##N SM_SWIZZLES_##N

#define SM_VECTOR(N, Alignment)                                                         \
    template <class T>                                                                  \
    struct vec<T, N> : sm::storage<T, N, Alignment> {                                   \
        SM_VECTOR_COMMON(vec, N, Alignment)                                             \
        template <class U, class = enable_if_t<!__is_same(U, T)>>                       \
        constexpr explicit vec(vec<U, N> v) : Base() {                                  \
            for (int i = 0; i < N; i++) this->each[i] = static_cast<T>(v.each[i]);      \
        }                                                                               \
        template <class U, class = enable_if_t<!__is_same(U, T)>, class = void>         \
        constexpr explicit vec(packed_vec<U, N> v) : Base() {                           \
            for (int i = 0; i < N; i++) this->each[i] = static_cast<T>(v.each[i]);      \
        }                                                                               \
        vec& operator++();                                                              \
        vec operator++(int);                                                            \
        vec& operator--();                                                              \
        vec operator--(int);                                                            \
    };                                                                                  \
    template <class T>                                                                  \
    struct packed_vec<T, N> : sm::storage<T, N, sizeof(T)> {                            \
        SM_VECTOR_COMMON(packed_vec, N, sizeof(T))                                      \
        constexpr packed_vec(vec<T, N> v) : Base() {                                    \
            for (int i = 0; i < N; i++) this->each[i] = v.each[i];                      \
        }                                                                               \
        template <class U, class = enable_if_t<!__is_same(U, T)>>                       \
        constexpr explicit packed_vec(vec<U, N> v) : packed_vec(vec<T, N>(v)) {}        \
        template <class U, class = enable_if_t<!__is_same(U, T)>, class = void>         \
        constexpr explicit packed_vec(packed_vec<U, N> v) : packed_vec(vec<T, N>(v)) {} \
        constexpr operator vec<T, N>() const {                                          \
            vec<T, N> v(T(0));                                                          \
            for (int i = 0; i < N; i++) v.each[i] = this->each[i];                      \
            return v;                                                                   \
        }                                                                               \
    };
SM_VECTOR(2, sizeof(T) * 2)
SM_VECTOR(3, sizeof(T) * 4)
SM_VECTOR(4, sizeof(T) * 4)
#undef SM_VECTOR
#undef SM_VECTOR_COMMON
#undef SM_VECTOR_ASSIGN

// Two vectors of one type, or one and a scalar. Packed ones take part as vectors. (Clang finds no
// operator of vec for a packed one by itself: templates do not convert.)
#define SM_FORMS(op, E, condition)                                                         \
    template <class T, int N, class = enable_if_t<condition>>                              \
    constexpr vec<E, N> operator op(vec<T, N> a, vec<T, N> b) {                            \
        vec<E, N> out(E(0));                                                               \
        for (int i = 0; i < N; i++) out.each[i] = E(a.each[i] op b.each[i]);               \
        return out;                                                                        \
    }                                                                                      \
    template <class T, int N, class S, class = enable_if_t<sm::fits<S, T> && (condition)>> \
    constexpr vec<E, N> operator op(vec<T, N> a, S b) {                                    \
        return a op vec<T, N>(T(b));                                                       \
    }                                                                                      \
    template <class T, int N, class S, class = enable_if_t<sm::fits<S, T> && (condition)>> \
    constexpr vec<E, N> operator op(S a, vec<T, N> b) {                                    \
        return vec<T, N>(T(a)) op b;                                                       \
    }
#define SM_PACKED_FORMS(op, E)                                                \
    template <class T, int N>                                                 \
    constexpr vec<E, N> operator op(packed_vec<T, N> a, packed_vec<T, N> b) { \
        return vec<T, N>(a) op vec<T, N>(b);                                  \
    }                                                                         \
    template <class T, int N>                                                 \
    constexpr vec<E, N> operator op(packed_vec<T, N> a, vec<T, N> b) {        \
        return vec<T, N>(a) op b;                                             \
    }                                                                         \
    template <class T, int N>                                                 \
    constexpr vec<E, N> operator op(vec<T, N> a, packed_vec<T, N> b) {        \
        return a op vec<T, N>(b);                                             \
    }                                                                         \
    template <class T, int N, class S, class = enable_if_t<sm::fits<S, T>>>   \
    constexpr vec<E, N> operator op(packed_vec<T, N> a, S b) {                \
        return vec<T, N>(a) op vec<T, N>(T(b));                               \
    }                                                                         \
    template <class T, int N, class S, class = enable_if_t<sm::fits<S, T>>>   \
    constexpr vec<E, N> operator op(S a, packed_vec<T, N> b) {                \
        return vec<T, N>(T(a)) op vec<T, N>(b);                               \
    }
#define SM_BINARY(op, E)  \
    SM_FORMS(op, E, true) \
    SM_PACKED_FORMS(op, E)
// The remainder and the bits of a float do not exist.
#define SM_BINARY_INT(op) SM_FORMS(op, T, !sm::is_float<T>)
SM_BINARY(+, T)
SM_BINARY(-, T)
SM_BINARY(*, T)
SM_BINARY(/, T)
SM_BINARY(==, bool)
SM_BINARY(!=, bool)
SM_BINARY(<, bool)
SM_BINARY(>, bool)
SM_BINARY(<=, bool)
SM_BINARY(>=, bool)
SM_BINARY(&&, bool)
SM_BINARY(||, bool)
SM_BINARY_INT(%)
SM_BINARY_INT(&)
SM_BINARY_INT(|)
SM_BINARY_INT(^)
SM_BINARY_INT(<<)
SM_BINARY_INT(>>)
#undef SM_BINARY
#undef SM_BINARY_INT
#undef SM_PACKED_FORMS
#undef SM_FORMS

template <class T, int N>
constexpr vec<T, N> operator-(vec<T, N> a) {
    return vec<T, N>(T(0)) - a;
}
template <class T, int N>
constexpr vec<T, N> operator+(vec<T, N> a) {
    return a;
}
template <class T, int N>
constexpr vec<bool, N> operator!(vec<T, N> a) {
    return a == vec<T, N>(T(0));
}
template <class T, int N, class = enable_if_t<!sm::is_float<T>>>
constexpr vec<T, N> operator~(vec<T, N> a) {
    return a ^ vec<T, N>(T(-1));
}
template <class T, int N>
constexpr vec<T, N> operator-(packed_vec<T, N> a) {
    return -vec<T, N>(a);
}

}  // namespace metal

#define SM_NAMES(T, name)                             \
    typedef metal::vec<T, 2> name##2;                 \
    typedef metal::vec<T, 3> name##3;                 \
    typedef metal::vec<T, 4> name##4;                 \
    typedef metal::packed_vec<T, 2> packed_##name##2; \
    typedef metal::packed_vec<T, 3> packed_##name##3; \
    typedef metal::packed_vec<T, 4> packed_##name##4; \
    namespace metal {                                 \
    using ::name##2;                                  \
    using ::name##3;                                  \
    using ::name##4;                                  \
    using ::packed_##name##2;                         \
    using ::packed_##name##3;                         \
    using ::packed_##name##4;                         \
    }
SM_NAMES(bool, bool)
SM_NAMES(char, char)
SM_NAMES(uchar, uchar)
SM_NAMES(short, short)
SM_NAMES(ushort, ushort)
SM_NAMES(int, int)
SM_NAMES(uint, uint)
SM_NAMES(long, long)
SM_NAMES(ulong, ulong)
SM_NAMES(half, half)
SM_NAMES(bfloat, bfloat)
SM_NAMES(float, float)
#undef SM_NAMES

namespace metal {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::ulong;
using ::ushort;
}  // namespace metal
