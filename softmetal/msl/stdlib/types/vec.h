// vec<T, N>: MSL's vectors as classes, because clang's own convert by reinterpreting where MSL
// converts by value, compare to -1 where MSL has true, and have a bool4 of one byte.
#pragma once

namespace metal {

template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

// The storage of a vector: a clang vector, and its components by name. Constant expressions always
// use the components, since clang cannot evaluate accesses to a vector's lanes. A namespace of its
// own, because calls with vectors are also looked up in it.
namespace sm_storage {

template <class T, int N>
struct components;
template <class T>
struct components<T, 2> {
    typedef sm::native_t<T, 2> native;
    union {
        native v;
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
    };
    SM_FN constexpr void put_raw(native a) {
        if (__builtin_is_constant_evaluated()) {
            auto e = sm::to_elements<T, 2>(a);
            x = e.at[0];
            y = e.at[1];
        } else {
            v = a;
        }
    }
    SM_FN constexpr native raw() const {
        if (__builtin_is_constant_evaluated()) return {sm::to_element(x), sm::to_element(y)};
        return v;
    }
};
template <class T>
struct components<T, 3> {
    typedef sm::native_t<T, 3> native;
    union {
        native v;
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
    };
    SM_FN constexpr void put_raw(native a) {
        if (__builtin_is_constant_evaluated()) {
            auto e = sm::to_elements<T, 3>(a);
            x = e.at[0];
            y = e.at[1];
            z = e.at[2];
        } else {
            v = a;
        }
    }
    SM_FN constexpr native raw() const {
        if (__builtin_is_constant_evaluated()) {
            return {sm::to_element(x), sm::to_element(y), sm::to_element(z)};
        }
        return v;
    }
};
template <class T>
struct components<T, 4> {
    typedef sm::native_t<T, 4> native;
    union {
        native v;
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
    };
    SM_FN constexpr void put_raw(native n) {
        if (__builtin_is_constant_evaluated()) {
            auto e = sm::to_elements<T, 4>(n);
            x = e.at[0];
            y = e.at[1];
            z = e.at[2];
            w = e.at[3];
        } else {
            v = n;
        }
    }
    SM_FN constexpr native raw() const {
        if (__builtin_is_constant_evaluated()) {
            return {sm::to_element(x), sm::to_element(y), sm::to_element(z), sm::to_element(w)};
        }
        return v;
    }
};
// Widths MSL does not name but templates reach: one lane, and register fragments of 8 and more.
template <class T, int N>
struct components {
    typedef sm::native_t<T, N> native;
    native v;
    SM_FN constexpr void put_raw(native a) { v = a; }
    SM_FN constexpr native raw() const { return v; }
};

// What swizzles are made of.
template <class T, int N>
struct vec_lanes : components<T, N> {
    typedef typename components<T, N>::native native;

    template <int I>
    SM_FN constexpr T lane() const {
        if (__builtin_is_constant_evaluated()) {
            return sm::to_elements<T, N>(this->raw()).at[I];
        }
        return __builtin_bit_cast(T, static_cast<sm::element_t<T>>(this->v[I]));
    }
    SM_FN constexpr void put_lane(int i, T a) {
        if (__builtin_is_constant_evaluated()) {
            auto e = sm::to_elements<T, N>(this->raw());
            e.at[i] = a;
            this->put_raw(sm::from_elements<T, N>(e));
        } else {
            this->v[i] = sm::to_element(a);
        }
    }
    template <int... I>
    SM_FN constexpr vec<T, sizeof...(I)> lanes() const {
        native n = this->raw();
        return vec<T, sizeof...(I)>::of(__builtin_shufflevector(n, n, I...));
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
        put_lane(I, a.template lane<K>());
        if constexpr (sizeof...(Rest) > 0) put_each<K + 1, Rest...>(a);
    }
};

}  // namespace sm_storage

namespace sm {
template <class U, class T>
concept LaneValue = Scalar<U> || (__is_class(U) && __is_convertible_to(U, T));

}  // namespace sm

// Constructors and operators that all widths share. `native` is the clang vector inside.
#define SM_VEC_COMMON(N)                                                           \
    typedef typename sm_storage::vec_lanes<T, N>::native native;                   \
    vec() = default;                                                               \
    SM_FN static constexpr vec of(native a) {                                      \
        vec r;                                                                     \
        r.put_raw(a);                                                              \
        return r;                                                                  \
    }                                                                              \
    template <sm::Scalar U>                                                        \
    SM_FN constexpr vec(U s) {                                                     \
        this->put_raw(native(sm::to_element(sm::convert_scalar<T>(s))));           \
    }                                                                              \
    template <class U>                                                             \
        requires(!__is_same(U, T))                                                 \
    SM_FN constexpr explicit vec(vec<U, N> a) {                                    \
        this->put_raw(sm::convert<T, U, N>(a.raw()));                              \
    }                                                                              \
    template <class U>                                                             \
        requires(!__is_same(U, T))                                                 \
    SM_FN constexpr explicit vec(const packed_vec<U, N>& a) : vec(vec<U, N>(a)) {} \
    SM_FN T& operator[](size_t i) { return reinterpret_cast<T*>(this)[i]; }        \
    SM_FN constexpr T operator[](size_t i) const {                                 \
        if (__builtin_is_constant_evaluated()) {                                   \
            return sm::to_elements<T, N>(this->raw()).at[i];                       \
        }                                                                          \
        return reinterpret_cast<const T*>(this)[i];                                \
    }                                                                              \
    SM_VEC_OPERATORS(N)

template <class T>
struct vec<T, 2> : sm_storage::vec_lanes<T, 2> {
    SM_VEC_COMMON(2)
    template <sm::LaneValue<T> A, sm::LaneValue<T> B>
    SM_FN constexpr vec(A p, B q) {
        this->put_raw({sm::to_element(static_cast<T>(p)), sm::to_element(static_cast<T>(q))});
    }
    SM_SWIZZLES_2
};

template <class T>
struct vec<T, 3> : sm_storage::vec_lanes<T, 3> {
    SM_VEC_COMMON(3)
    template <sm::LaneValue<T> A, sm::LaneValue<T> B, sm::LaneValue<T> C>
    SM_FN constexpr vec(A p, B q, C s) {
        this->put_raw({sm::to_element(static_cast<T>(p)), sm::to_element(static_cast<T>(q)),
                       sm::to_element(static_cast<T>(s))});
    }
    SM_FN constexpr vec(vec<T, 2> p, T q) : vec(p.x, p.y, q) {}
    SM_FN constexpr vec(T p, vec<T, 2> q) : vec(p, q.x, q.y) {}
    SM_SWIZZLES_3
};

template <class T>
struct vec<T, 4> : sm_storage::vec_lanes<T, 4> {
    SM_VEC_COMMON(4)
    template <sm::LaneValue<T> A, sm::LaneValue<T> B, sm::LaneValue<T> C, sm::LaneValue<T> D>
    SM_FN constexpr vec(A p, B q, C s, D t) {
        this->put_raw({sm::to_element(static_cast<T>(p)), sm::to_element(static_cast<T>(q)),
                       sm::to_element(static_cast<T>(s)), sm::to_element(static_cast<T>(t))});
    }
    SM_FN constexpr vec(vec<T, 2> p, T q, T s) : vec(p.x, p.y, q, s) {}
    SM_FN constexpr vec(T p, vec<T, 2> q, T s) : vec(p, q.x, q.y, s) {}
    SM_FN constexpr vec(T p, T q, vec<T, 2> s) : vec(p, q, s.x, s.y) {}
    SM_FN constexpr vec(vec<T, 2> p, vec<T, 2> q) {
        this->put_raw(__builtin_shufflevector(p.raw(), q.raw(), 0, 1, 2, 3));
    }
    SM_FN constexpr vec(vec<T, 3> p, T q) : vec(p.x, p.y, p.z, q) {}
    SM_FN constexpr vec(T p, vec<T, 3> q) : vec(p, q.x, q.y, q.z) {}
    SM_SWIZZLES_4
};

template <class T, int N>
struct vec : sm_storage::vec_lanes<T, N> {
    SM_VEC_COMMON(N)
};

}  // namespace metal
