// vec<T, N>: MSL's vectors as classes, because clang's own convert by reinterpreting where MSL
// converts by value, compare to -1 where MSL has true, and have a bool4 of one byte.
#pragma once

namespace metal {

template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

// The storage and the lanes of a vector; what swizzles are made of. A namespace of its own, because
// calls with vectors are also looked up in it.
namespace storage {

using sm::element_t;
using sm::native_t;

template <class T, int N>
struct vec_lanes {
    typedef native_t<T, N> native;
    native v;

    template <int I>
    SM_FN constexpr T lane() const {
        return static_cast<T>(sm::lane_of<I, element_t<T>, N>(v));
    }
    template <int I>
    SM_FN constexpr void put_lane(T a) {
        v = sm::with_lane<element_t<T>, N>(v, I, static_cast<element_t<T>>(a));
    }
    template <int... I>
    SM_FN constexpr vec<T, sizeof...(I)> lanes() const {
        return vec<T, sizeof...(I)>::of(__builtin_shufflevector(v, v, I...));
    }
    template <int... I>
    SM_FN constexpr void put_lanes(vec<T, sizeof...(I)> a) {
        static_assert(distinct<I...>(),
                      "a swizzle that names a component twice cannot be assigned");
        put_each<0, I...>(a);
    }

  private:
    template <int... I>
    static consteval bool distinct() {
        unsigned seen = 0;
        return ((seen & 1u << I ? false : (seen |= 1u << I, true)) && ...);
    }
    template <int K, int I, int... Rest, class A>
    SM_FN constexpr void put_each(const A& a) {
        put_lane<I>(a.template lane<K>());
        if constexpr (sizeof...(Rest) > 0) put_each<K + 1, Rest...>(a);
    }
};

}  // namespace storage

namespace sm {
template <class U, class T>
concept LaneValue = Scalar<U> || (__is_class(U) && __is_convertible_to(U, T));

}  // namespace sm

// Constructors and operators that all widths share. `native` is the clang vector inside.
#define SM_VEC_COMMON(N)                                                                     \
    typedef typename storage::vec_lanes<T, N>::native native;                                \
    using storage::vec_lanes<T, N>::v;                                                       \
    vec() = default;                                                                         \
    SM_FN static constexpr vec of(native a) {                                                \
        vec r;                                                                               \
        r.v = a;                                                                             \
        return r;                                                                            \
    }                                                                                        \
    template <sm::Scalar U>                                                                  \
    SM_FN constexpr vec(U s) {                                                               \
        v = native(static_cast<sm::element_t<T>>(sm::convert_scalar<T>(s)));                 \
    }                                                                                        \
    template <class U>                                                                       \
        requires(!__is_same(U, T))                                                           \
    SM_FN constexpr explicit vec(vec<U, N> a) {                                              \
        v = sm::convert<T, U, N>(a.v);                                                       \
    }                                                                                        \
    template <class U>                                                                       \
        requires(!__is_same(U, T))                                                           \
    SM_FN constexpr explicit vec(const packed_vec<U, N>& a) : vec(vec<U, N>(a)) {}           \
    SM_FN T& operator[](size_t i) { return reinterpret_cast<T*>(&v)[i]; }                    \
    SM_FN constexpr T operator[](size_t i) const {                                           \
        if (__builtin_is_constant_evaluated()) {                                             \
            return __builtin_bit_cast(sm::elements<T, sizeof(native) / sizeof(T)>, v).at[i]; \
        }                                                                                    \
        return reinterpret_cast<const T*>(&v)[i];                                            \
    }                                                                                        \
    SM_VEC_OPERATORS(N)

#define SM_VEC_ARITHMETIC(N, op)                                                                \
    SM_FN friend constexpr vec operator op(vec a, vec b) {                                      \
        return of(sm::narrow<sm::element_t<T>, N>(sm::widen<sm::element_t<T>, N>(a.v)           \
                                                      op sm::widen<sm::element_t<T>, N>(b.v))); \
    }                                                                                           \
    SM_FN constexpr vec& operator op##=(vec b) { return *this = *this op b; }

#define SM_VEC_BITWISE(N, op)                            \
    SM_FN friend constexpr vec operator op(vec a, vec b) \
        requires(!sm::is_float_scalar<T>)                \
    {                                                    \
        return of(a.v op b.v);                           \
    }                                                    \
    SM_FN constexpr vec& operator op##=(vec b)           \
        requires(!sm::is_float_scalar<T>)                \
    {                                                    \
        return *this = *this op b;                       \
    }

// MSL takes a shift amount modulo the width of the element.
#define SM_VEC_SHIFT(N, op)                                                 \
    SM_FN friend constexpr vec operator op(vec a, vec b)                    \
        requires(sm::is_int_scalar<T>)                                      \
    {                                                                       \
        return of(a.v op(b.v & native(static_cast<T>(sizeof(T) * 8 - 1)))); \
    }                                                                       \
    SM_FN constexpr vec& operator op##=(vec b)                              \
        requires(sm::is_int_scalar<T>)                                      \
    {                                                                       \
        return *this = *this op b;                                          \
    }

#define SM_VEC_COMPARE(N, op)                                                   \
    SM_FN friend constexpr vec<bool, N> operator op(vec a, vec b) {             \
        return vec<bool, N>::of(                                                \
            __builtin_convertvector(sm::widen<sm::element_t<T>, N>(a.v)         \
                                        op sm::widen<sm::element_t<T>, N>(b.v), \
                                    sm::native_t<bool, N>) &                    \
            static_cast<unsigned char>(1));                                     \
    }

#define SM_VEC_LOGICAL(N, op, bit_op)                                                              \
    SM_FN friend constexpr vec<bool, N> operator op(vec a, vec b) {                                \
        return vec<bool, N>::of(sm::convert<bool, T, N>(a.v) bit_op sm::convert<bool, T, N>(b.v)); \
    }

#define SM_VEC_OPERATORS(N)                                                                    \
    SM_VEC_ARITHMETIC(N, +)                                                                    \
    SM_VEC_ARITHMETIC(N, -)                                                                    \
    SM_VEC_ARITHMETIC(N, *)                                                                    \
    SM_VEC_ARITHMETIC(N, /)                                                                    \
    SM_VEC_BITWISE(N, %)                                                                       \
    SM_VEC_BITWISE(N, &)                                                                       \
    SM_VEC_BITWISE(N, |)                                                                       \
    SM_VEC_BITWISE(N, ^)                                                                       \
    SM_VEC_SHIFT(N, <<)                                                                        \
    SM_VEC_SHIFT(N, >>)                                                                        \
    SM_VEC_COMPARE(N, ==)                                                                      \
    SM_VEC_COMPARE(N, !=)                                                                      \
    SM_VEC_COMPARE(N, <)                                                                       \
    SM_VEC_COMPARE(N, >)                                                                       \
    SM_VEC_COMPARE(N, <=)                                                                      \
    SM_VEC_COMPARE(N, >=)                                                                      \
    SM_VEC_LOGICAL(N, &&, &)                                                                   \
    SM_VEC_LOGICAL(N, ||, |)                                                                   \
    SM_FN friend constexpr vec operator+(vec a) { return a; }                                  \
    SM_FN friend constexpr vec operator-(vec a) {                                              \
        return of(sm::narrow<sm::element_t<T>, N>(-sm::widen<sm::element_t<T>, N>(a.v)));      \
    }                                                                                          \
    SM_FN friend constexpr vec operator~(vec a)                                                \
        requires(sm::is_int_scalar<T>)                                                         \
    {                                                                                          \
        return of(~a.v);                                                                       \
    }                                                                                          \
    SM_FN friend constexpr vec<bool, N> operator!(vec a) {                                     \
        return vec<bool, N>::of(sm::convert<bool, T, N>(a.v) ^ static_cast<unsigned char>(1)); \
    }                                                                                          \
    SM_FN constexpr vec& operator++() { return *this += T(1); }                                \
    SM_FN constexpr vec& operator--() { return *this -= T(1); }                                \
    SM_FN constexpr vec operator++(int) {                                                      \
        vec old = *this;                                                                       \
        *this += T(1);                                                                         \
        return old;                                                                            \
    }                                                                                          \
    SM_FN constexpr vec operator--(int) {                                                      \
        vec old = *this;                                                                       \
        *this -= T(1);                                                                         \
        return old;                                                                            \
    }

template <class T>
struct vec<T, 2> : storage::vec_lanes<T, 2> {
    SM_VEC_COMMON(2)
    template <sm::LaneValue<T> A, sm::LaneValue<T> B>
    SM_FN constexpr vec(A a, B b) {
        typedef sm::element_t<T> E;
        v = native{static_cast<E>(static_cast<T>(a)), static_cast<E>(static_cast<T>(b))};
    }
    SM_SWIZZLES_2
};

template <class T>
struct vec<T, 3> : storage::vec_lanes<T, 3> {
    SM_VEC_COMMON(3)
    template <sm::LaneValue<T> A, sm::LaneValue<T> B, sm::LaneValue<T> C>
    SM_FN constexpr vec(A a, B b, C c) {
        typedef sm::element_t<T> E;
        v = native{static_cast<E>(static_cast<T>(a)), static_cast<E>(static_cast<T>(b)),
                   static_cast<E>(static_cast<T>(c))};
    }
    SM_FN constexpr vec(vec<T, 2> a, T b) : vec(a.template lane<0>(), a.template lane<1>(), b) {}
    SM_FN constexpr vec(T a, vec<T, 2> b) : vec(a, b.template lane<0>(), b.template lane<1>()) {}
    SM_SWIZZLES_3
};

template <class T>
struct vec<T, 4> : storage::vec_lanes<T, 4> {
    SM_VEC_COMMON(4)
    template <sm::LaneValue<T> A, sm::LaneValue<T> B, sm::LaneValue<T> C, sm::LaneValue<T> D>
    SM_FN constexpr vec(A a, B b, C c, D d) {
        typedef sm::element_t<T> E;
        v = native{static_cast<E>(static_cast<T>(a)), static_cast<E>(static_cast<T>(b)),
                   static_cast<E>(static_cast<T>(c)), static_cast<E>(static_cast<T>(d))};
    }
    SM_FN constexpr vec(vec<T, 2> a, T b, T c)
        : vec(a.template lane<0>(), a.template lane<1>(), b, c) {}
    SM_FN constexpr vec(T a, vec<T, 2> b, T c)
        : vec(a, b.template lane<0>(), b.template lane<1>(), c) {}
    SM_FN constexpr vec(T a, T b, vec<T, 2> c)
        : vec(a, b, c.template lane<0>(), c.template lane<1>()) {}
    SM_FN constexpr vec(vec<T, 2> a, vec<T, 2> b) {
        v = __builtin_shufflevector(a.v, b.v, 0, 1, 2, 3);
    }
    SM_FN constexpr vec(vec<T, 3> a, T b) {
        v = sm::with_lane<sm::element_t<T>, 4>(__builtin_shufflevector(a.v, a.v, 0, 1, 2, 2), 3,
                                               static_cast<sm::element_t<T>>(b));
    }
    SM_FN constexpr vec(T a, vec<T, 3> b) {
        v = sm::with_lane<sm::element_t<T>, 4>(__builtin_shufflevector(b.v, b.v, 0, 0, 1, 2), 0,
                                               static_cast<sm::element_t<T>>(a));
    }
    SM_SWIZZLES_4
};

// Widths MSL does not name but templates reach: one lane, and register fragments of 8 and more.
template <class T, int N>
struct vec : storage::vec_lanes<T, N> {
    SM_VEC_COMMON(N)
};

}  // namespace metal
