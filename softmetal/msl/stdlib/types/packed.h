// packed_float3 and its kin: N elements with no padding, aligned like one element. Arithmetic
// happens in vec<T, N>, to and from which they convert without being asked.
#pragma once

namespace metal {

template <class T, int N>
struct packed_vec;

namespace sm_storage {

template <class T, int N>
struct packed_components;
template <class T>
struct packed_components<T, 2> {
    union {
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
    };
    SM_FN constexpr vec<T, 2> whole() const { return vec<T, 2>(x, y); }
    SM_FN constexpr void put(vec<T, 2> n) {
        x = n.x;
        y = n.y;
    }
};
template <class T>
struct packed_components<T, 3> {
    union {
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
    };
    SM_FN constexpr vec<T, 3> whole() const { return vec<T, 3>(x, y, z); }
    SM_FN constexpr void put(vec<T, 3> n) {
        x = n.x;
        y = n.y;
        z = n.z;
    }
};
template <class T>
struct packed_components<T, 4> {
    union {
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
    };
    SM_FN constexpr vec<T, 4> whole() const { return vec<T, 4>(x, y, z, w); }
    SM_FN constexpr void put(vec<T, 4> n) {
        x = n.x;
        y = n.y;
        z = n.z;
        w = n.w;
    }
};
template <class T, int N>
struct packed_lanes : packed_components<T, N> {
    template <int... I>
    SM_FN constexpr vec<T, sizeof...(I)> lanes() const {
        return this->whole().template lanes<I...>();
    }
    template <int... I>
    SM_FN constexpr void put_lanes(vec<T, sizeof...(I)> a) {
        vec<T, N> all = this->whole();
        all.template put_lanes<I...>(a);
        this->put(all);
    }
};

}  // namespace sm_storage

#define SM_PACKED_COMMON(N)                                                             \
    packed_vec() = default;                                                             \
    SM_FN constexpr packed_vec(vec<T, N> n) { this->put(n); }                           \
    template <class U>                                                                  \
        requires(!__is_same(U, T))                                                      \
    SM_FN constexpr explicit packed_vec(vec<U, N> n) : packed_vec(vec<T, N>(n)) {}      \
    template <class U>                                                                  \
        requires(!__is_same(U, T))                                                      \
    SM_FN constexpr explicit packed_vec(const packed_vec<U, N>& n)                      \
        : packed_vec(vec<T, N>(vec<U, N>(n))) {}                                        \
    template <sm::Scalar U>                                                             \
    SM_FN constexpr packed_vec(U s) : packed_vec(vec<T, N>(s)) {}                       \
    template <class A, class B, class... C>                                             \
        requires(__is_constructible(vec<T, N>, A, B, C...))                             \
    SM_FN constexpr packed_vec(A p, B q, C... s) : packed_vec(vec<T, N>(p, q, s...)) {} \
    SM_FN constexpr packed_vec& operator=(vec<T, N> n) {                                \
        this->put(n);                                                                   \
        return *this;                                                                   \
    }                                                                                   \
    SM_FN constexpr operator vec<T, N>() const { return this->whole(); }                \
    SM_FN T& operator[](size_t i) { return reinterpret_cast<T*>(this)[i]; }             \
    SM_FN constexpr T operator[](size_t i) const { return this->whole()[i]; }           \
    SM_PACKED_OPERATORS(N, +)                                                           \
    SM_PACKED_OPERATORS(N, -)                                                           \
    SM_PACKED_OPERATORS(N, *)                                                           \
    SM_PACKED_OPERATORS(N, /)                                                           \
    SM_PACKED_ASSIGN(N, %)                                                              \
    SM_PACKED_ASSIGN(N, &)                                                              \
    SM_PACKED_ASSIGN(N, |)                                                              \
    SM_PACKED_ASSIGN(N, ^)                                                              \
    SM_PACKED_ASSIGN(N, <<)                                                             \
    SM_PACKED_ASSIGN(N, >>)                                                             \
    SM_FN friend constexpr vec<T, N> operator-(packed_vec a) { return -vec<T, N>(a); }  \
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
struct packed_vec<T, 2> : sm_storage::packed_lanes<T, 2> {
    SM_PACKED_COMMON(2)
    SM_SWIZZLES_2
};
template <class T>
struct packed_vec<T, 3> : sm_storage::packed_lanes<T, 3> {
    SM_PACKED_COMMON(3)
    SM_SWIZZLES_3
};
template <class T>
struct packed_vec<T, 4> : sm_storage::packed_lanes<T, 4> {
    SM_PACKED_COMMON(4)
    SM_SWIZZLES_4
};

}  // namespace metal
