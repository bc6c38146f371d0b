// packed_float3 and its kin: N elements with no padding, aligned like one element. Arithmetic
// happens in vec<T, N>, to and from which they convert without being asked.
#pragma once

namespace metal {

template <class T, int N>
struct packed_vec;

namespace storage {
template <class T, int N>
struct packed_lanes {
    T e[N];

    template <int I>
    SM_FN constexpr T lane() const {
        return e[I];
    }
    template <int I>
    SM_FN constexpr void put_lane(T a) {
        e[I] = a;
    }
    template <int... I>
    SM_FN constexpr vec<T, sizeof...(I)> lanes() const {
        return vec<T, sizeof...(I)>(e[I]...);
    }
    template <int... I>
    SM_FN constexpr void put_lanes(vec<T, sizeof...(I)> a) {
        vec<T, N> all = whole(__make_integer_seq<indices, int, N>{});
        all.template put_lanes<I...>(a);
        put(all, __make_integer_seq<indices, int, N>{});
    }
    template <class I, I...>
    struct indices {};
    template <int... I>
    SM_FN constexpr vec<T, N> whole(indices<int, I...>) const {
        return vec<T, N>(e[I]...);
    }
    template <int... I>
    SM_FN constexpr void put(const vec<T, N>& a, indices<int, I...>) {
        ((e[I] = a.template lane<I>()), ...);
    }
};
}  // namespace storage

#define SM_PACKED_COMMON(N)                                                                        \
    using storage::packed_lanes<T, N>::e;                                                          \
    packed_vec() = default;                                                                        \
    SM_FN constexpr packed_vec(vec<T, N> a) { *this = a; }                                         \
    template <class U>                                                                             \
        requires(!__is_same(U, T))                                                                 \
    SM_FN constexpr explicit packed_vec(vec<U, N> a) : packed_vec(vec<T, N>(a)) {}                 \
    template <class U>                                                                             \
        requires(!__is_same(U, T))                                                                 \
    SM_FN constexpr explicit packed_vec(const packed_vec<U, N>& a)                                 \
        : packed_vec(vec<T, N>(vec<U, N>(a))) {}                                                   \
    template <sm::Scalar U>                                                                        \
    SM_FN constexpr packed_vec(U s) : packed_vec(vec<T, N>(s)) {}                                  \
    template <class A, class B, class... C>                                                        \
        requires(__is_constructible(vec<T, N>, A, B, C...))                                        \
    SM_FN constexpr packed_vec(A a, B b, C... c) : packed_vec(vec<T, N>(a, b, c...)) {}            \
    SM_FN constexpr packed_vec& operator=(vec<T, N> a) {                                           \
        this->put(a, __make_integer_seq<storage::packed_lanes<T, N>::template indices, int, N>{}); \
        return *this;                                                                              \
    }                                                                                              \
    SM_FN constexpr operator vec<T, N>() const {                                                   \
        return this->whole(                                                                        \
            __make_integer_seq<storage::packed_lanes<T, N>::template indices, int, N>{});          \
    }                                                                                              \
    SM_FN constexpr T& operator[](size_t i) { return e[i]; }                                       \
    SM_FN constexpr const T& operator[](size_t i) const { return e[i]; }                           \
    SM_PACKED_OPERATORS(N, +)                                                                      \
    SM_PACKED_OPERATORS(N, -)                                                                      \
    SM_PACKED_OPERATORS(N, *)                                                                      \
    SM_PACKED_OPERATORS(N, /)                                                                      \
    SM_PACKED_ASSIGN(N, %)                                                                         \
    SM_PACKED_ASSIGN(N, &)                                                                         \
    SM_PACKED_ASSIGN(N, |)                                                                         \
    SM_PACKED_ASSIGN(N, ^)                                                                         \
    SM_PACKED_ASSIGN(N, <<)                                                                        \
    SM_PACKED_ASSIGN(N, >>)                                                                        \
    SM_FN friend constexpr vec<T, N> operator-(packed_vec a) { return -vec<T, N>(a); }             \
    SM_FN friend constexpr vec<T, N> operator+(packed_vec a) { return vec<T, N>(a); }

#define SM_PACKED_ASSIGN(N, op)                               \
    SM_FN constexpr packed_vec& operator op##=(vec<T, N> b) { \
        return *this = vec<T, N>(*this) op b;                 \
    }

// Two packed operands, or one and a scalar, name no vec; every other mix finds vec's own operators.
#define SM_PACKED_OPERATORS(N, op)                                             \
    SM_PACKED_ASSIGN(N, op)                                                    \
    SM_FN friend constexpr vec<T, N> operator op(packed_vec a, packed_vec b) { \
        return vec<T, N>(a) op vec<T, N>(b);                                   \
    }                                                                          \
    template <sm::Scalar U>                                                    \
    SM_FN friend constexpr vec<T, N> operator op(packed_vec a, U b) {          \
        return vec<T, N>(a) op vec<T, N>(b);                                   \
    }                                                                          \
    template <sm::Scalar U>                                                    \
    SM_FN friend constexpr vec<T, N> operator op(U a, packed_vec b) {          \
        return vec<T, N>(a) op vec<T, N>(b);                                   \
    }                                                                          \
    SM_FN friend constexpr vec<T, N> operator op(packed_vec a, vec<T, N> b) {  \
        return vec<T, N>(a) op b;                                              \
    }                                                                          \
    SM_FN friend constexpr vec<T, N> operator op(vec<T, N> a, packed_vec b) {  \
        return a op vec<T, N>(b);                                              \
    }

template <class T>
struct packed_vec<T, 2> : storage::packed_lanes<T, 2> {
    SM_PACKED_COMMON(2)
    SM_SWIZZLES_2
};
template <class T>
struct packed_vec<T, 3> : storage::packed_lanes<T, 3> {
    SM_PACKED_COMMON(3)
    SM_SWIZZLES_3
};
template <class T>
struct packed_vec<T, 4> : storage::packed_lanes<T, 4> {
    SM_PACKED_COMMON(4)
    SM_SWIZZLES_4
};

}  // namespace metal
