// How one definition serves scalars and vectors: what a function's argument counts as, its clang
// vector, and the way back. A packed vector counts as its vec, C++'s double (MSL has none) as
// float.
#pragma once

namespace metal::sm {

template <class T>
struct shape {};
template <class T>
    requires is_scalar<T>
struct shape<T> {
    typedef T value;
    typedef T element;
    static constexpr int lanes = 0;
};
template <>
struct shape<double> : shape<float> {};
template <class T>
    requires(__is_enum(T))
struct shape<T> : shape<__underlying_type(T)> {};
template <class T, int N>
struct shape<vec<T, N>> {
    typedef vec<T, N> value;
    typedef T element;
    static constexpr int lanes = N;
};
template <class T, int N>
struct shape<packed_vec<T, N>> : shape<vec<T, N>> {};

// 0 for a scalar and for what is neither.
template <class T>
inline constexpr int shape_lanes = 0;
template <class T>
    requires requires { typename shape<T>::value; }
inline constexpr int shape_lanes<T> = shape<T>::lanes;

template <class T>
using value_of = typename shape<T>::value;
template <class T>
using element_of_t = typename shape<T>::element;

// The same shape with another element type.
template <class T, class E>
struct with_element {
    typedef E type;
};
template <class T, int N, class E>
struct with_element<vec<T, N>, E> {
    typedef vec<E, N> type;
};
template <class T, class E>
using with_element_t = typename with_element<value_of<T>, E>::type;

// What two or three arguments of one function count as together. MSL wants them alike; a scalar
// beside a vector is spread over it, and mixed scalars meet where C++ arithmetic would take them.
template <class A, class B>
struct common_shape {};
template <class A>
struct common_shape<A, A> {
    typedef A type;
};
template <class T, int N, class S>
    requires is_scalar<S>
struct common_shape<vec<T, N>, S> {
    typedef vec<T, N> type;
};
template <class T, int N, class S>
    requires is_scalar<S>
struct common_shape<S, vec<T, N>> {
    typedef vec<T, N> type;
};
template <class A, class B>
    requires(is_scalar<A> && is_scalar<B> && !__is_same(A, B) &&
             !(is_float_scalar<A> && is_float_scalar<B>))
struct common_shape<A, B> {
    typedef decltype(A() + B()) type;
};
template <class A, class B>
    requires(is_float_scalar<A> && is_float_scalar<B> && !__is_same(A, B))
struct common_shape<A, B> {
    typedef float type;
};

// An argument that only converts (a constant wrapped in a class) takes the type of the other.
template <class T>
inline constexpr bool has_shape = requires { typename shape<T>::value; };
template <class A, class B>
struct common_value {};
template <class A, class B>
    requires(has_shape<A> && has_shape<B>)
struct common_value<A, B> : common_shape<value_of<A>, value_of<B>> {};
template <class A, class B>
    requires(has_shape<A> && !has_shape<B> && __is_convertible_to(B, value_of<A>))
struct common_value<A, B> {
    typedef value_of<A> type;
};
template <class A, class B>
    requires(!has_shape<A> && has_shape<B> && __is_convertible_to(A, value_of<B>))
struct common_value<A, B> {
    typedef value_of<B> type;
};

template <class A, class B>
using value2 = typename common_value<A, B>::type;
template <class A, class B, class C>
using value3 = value2<value2<A, B>, C>;

template <class T>
inline constexpr bool is_float_shape = false;
template <class T>
    requires has_shape<T>
inline constexpr bool is_float_shape<T> = is_float_scalar<element_of_t<T>>;
template <class T>
inline constexpr bool is_int_shape = false;
template <class T>
    requires has_shape<T>
inline constexpr bool is_int_shape<T> = is_int_scalar<element_of_t<T>>;

template <bool B, class T>
struct only_if {};
template <class T>
struct only_if<true, T> {
    typedef T type;
};
// The result types of functions of floats and of integers: no function for anything else.
template <class A>
using float1 = typename only_if<is_float_shape<A>, value_of<A>>::type;
template <class A, class B>
using float2_of = typename only_if<is_float_shape<value2<A, B>>, value2<A, B>>::type;
template <class A, class B, class C>
using float3_of = typename only_if<is_float_shape<value3<A, B, C>>, value3<A, B, C>>::type;
template <class A>
using int1 = typename only_if<is_int_shape<A>, value_of<A>>::type;
template <class A, class B>
using int2_of = typename only_if<is_int_shape<value2<A, B>>, value2<A, B>>::type;
template <class A, class B, class C>
using int3_of = typename only_if<is_int_shape<value3<A, B, C>>, value3<A, B, C>>::type;

// ---- To clang's vectors and back. A scalar is its own clang vector.

template <class T, int N>
SM_FN constexpr native_t<T, N> native_of(const vec<T, N>& a) {
    return a.raw();
}
template <class T>
    requires is_scalar<T>
SM_FN constexpr T native_of(T a) {
    return a;
}
template <class R, class V>
SM_FN constexpr R from_native(V v) {
    if constexpr (shape<R>::lanes == 0)
        return static_cast<R>(v);
    else
        return R::of(v);
}

// Floats of any kind as float, where every one of them is exact; and rounded back, once.
template <class R>
SM_FN constexpr auto to_float(const R& a) {
    if constexpr (shape<R>::lanes == 0)
        return static_cast<float>(a);
    else
        return convert<float, element_of_t<R>, shape<R>::lanes>(a.raw());
}
template <class R, class V>
SM_FN constexpr R from_float(V v) {
    if constexpr (shape<R>::lanes == 0)
        return static_cast<R>(v);
    else
        return R::of(convert<element_of_t<R>, float, shape<R>::lanes>(v));
}

}  // namespace metal::sm
