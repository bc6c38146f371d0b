// The operators that every vec<T, N> has, as a macro for its classes: friends, so that a scalar or
// a packed vector beside a vector becomes one. Comparisons give vectors of bool.
#pragma once

#define SM_VEC_ARITHMETIC(N, op)                                                           \
    SM_FN friend constexpr vec operator op(vec l, vec r) {                                 \
        return of(sm::narrow<T, N>(sm::widen<T, N>(l.raw()) op sm::widen<T, N>(r.raw()))); \
    }                                                                                      \
    SM_FN constexpr vec& operator op##=(vec r) { return *this = *this op r; }

#define SM_VEC_BITWISE(N, op)                            \
    SM_FN friend constexpr vec operator op(vec l, vec r) \
        requires(!sm::is_float_scalar<T>)                \
    {                                                    \
        return of(l.raw() op r.raw());                   \
    }                                                    \
    SM_FN constexpr vec& operator op##=(vec r)           \
        requires(!sm::is_float_scalar<T>)                \
    {                                                    \
        return *this = *this op r;                       \
    }

// MSL takes a shift amount modulo the width of the element.
#define SM_VEC_SHIFT(N, op)                                                         \
    SM_FN friend constexpr vec operator op(vec l, vec r)                            \
        requires(sm::is_int_scalar<T>)                                              \
    {                                                                               \
        return of(l.raw() op(r.raw() & native(static_cast<T>(sizeof(T) * 8 - 1)))); \
    }                                                                               \
    SM_FN constexpr vec& operator op##=(vec r)                                      \
        requires(sm::is_int_scalar<T>)                                              \
    {                                                                               \
        return *this = *this op r;                                                  \
    }

#define SM_VEC_COMPARE(N, op)                                                            \
    SM_FN friend constexpr vec<bool, N> operator op(vec l, vec r) {                      \
        return vec<bool, N>::of(__builtin_convertvector(sm::widen<T, N>(l.raw())         \
                                                            op sm::widen<T, N>(r.raw()), \
                                                        sm::native_t<bool, N>) &         \
                                static_cast<unsigned char>(1));                          \
    }

#define SM_VEC_LOGICAL(N, op, bit_op)                                         \
    SM_FN friend constexpr vec<bool, N> operator op(vec l, vec r) {           \
        return vec<bool, N>::of(sm::convert<bool, T, N>(l.raw())              \
                                    bit_op sm::convert<bool, T, N>(r.raw())); \
    }

#define SM_VEC_OPERATORS(N)                                                                        \
    SM_VEC_ARITHMETIC(N, +)                                                                        \
    SM_VEC_ARITHMETIC(N, -)                                                                        \
    SM_VEC_ARITHMETIC(N, *)                                                                        \
    SM_VEC_ARITHMETIC(N, /)                                                                        \
    SM_VEC_BITWISE(N, %)                                                                           \
    SM_VEC_BITWISE(N, &)                                                                           \
    SM_VEC_BITWISE(N, |)                                                                           \
    SM_VEC_BITWISE(N, ^)                                                                           \
    SM_VEC_SHIFT(N, <<)                                                                            \
    SM_VEC_SHIFT(N, >>)                                                                            \
    SM_VEC_COMPARE(N, ==)                                                                          \
    SM_VEC_COMPARE(N, !=)                                                                          \
    SM_VEC_COMPARE(N, <)                                                                           \
    SM_VEC_COMPARE(N, >)                                                                           \
    SM_VEC_COMPARE(N, <=)                                                                          \
    SM_VEC_COMPARE(N, >=)                                                                          \
    SM_VEC_LOGICAL(N, &&, &)                                                                       \
    SM_VEC_LOGICAL(N, ||, |)                                                                       \
    SM_FN friend constexpr vec operator+(vec l) { return l; }                                      \
    SM_FN friend constexpr vec operator-(vec l) {                                                  \
        return of(sm::narrow<T, N>(-sm::widen<T, N>(l.raw())));                                    \
    }                                                                                              \
    SM_FN friend constexpr vec operator~(vec l)                                                    \
        requires(sm::is_int_scalar<T>)                                                             \
    {                                                                                              \
        return of(~l.raw());                                                                       \
    }                                                                                              \
    SM_FN friend constexpr vec<bool, N> operator!(vec l) {                                         \
        return vec<bool, N>::of(sm::convert<bool, T, N>(l.raw()) ^ static_cast<unsigned char>(1)); \
    }                                                                                              \
    SM_FN constexpr vec& operator++() { return *this += T(1); }                                    \
    SM_FN constexpr vec& operator--() { return *this -= T(1); }                                    \
    SM_FN constexpr vec operator++(int) {                                                          \
        vec old = *this;                                                                           \
        *this += T(1);                                                                             \
        return old;                                                                                \
    }                                                                                              \
    SM_FN constexpr vec operator--(int) {                                                          \
        vec old = *this;                                                                           \
        *this -= T(1);                                                                             \
        return old;                                                                                \
    }
