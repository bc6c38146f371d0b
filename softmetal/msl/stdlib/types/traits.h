// <metal_type_traits>: the parts of <type_traits> that MSL has, over MSL's types.
#pragma once

namespace metal {

template <class T, T V>
struct integral_constant {
    static constexpr T value = V;
    typedef T value_type;
    typedef integral_constant type;
    SM_FN constexpr operator T() const noexcept { return V; }
    SM_FN constexpr T operator()() const noexcept { return V; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

// ---- Making types

template <class T>
struct type_identity {
    typedef T type;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;  // never deduced

template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    typedef T type;
};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;

template <bool B, class T, class F>
struct conditional {
    typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
    typedef F type;
};
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;

#define SM_TRANSFORM(name, builtin) \
    template <class T>              \
    struct name {                   \
        typedef builtin(T) type;    \
    };                              \
    template <class T>              \
    using name##_t = builtin(T);
SM_TRANSFORM(remove_reference, __remove_reference_t)
SM_TRANSFORM(remove_const, __remove_const)
SM_TRANSFORM(remove_volatile, __remove_volatile)
SM_TRANSFORM(remove_cv, __remove_cv)
SM_TRANSFORM(remove_cvref, __remove_cvref)
SM_TRANSFORM(remove_pointer, __remove_pointer)
SM_TRANSFORM(remove_extent, __remove_extent)
SM_TRANSFORM(remove_all_extents, __remove_all_extents)
SM_TRANSFORM(decay, __decay)
SM_TRANSFORM(add_pointer, __add_pointer)
SM_TRANSFORM(add_lvalue_reference, __add_lvalue_reference)
SM_TRANSFORM(add_rvalue_reference, __add_rvalue_reference)
SM_TRANSFORM(make_signed, __make_signed)
SM_TRANSFORM(make_unsigned, __make_unsigned)
SM_TRANSFORM(underlying_type, __underlying_type)
#undef SM_TRANSFORM

template <class T>
struct add_const {
    typedef const T type;
};
template <class T>
using add_const_t = const T;
template <class T>
struct add_volatile {
    typedef volatile T type;
};
template <class T>
using add_volatile_t = volatile T;
template <class T>
struct add_cv {
    typedef const volatile T type;
};
template <class T>
using add_cv_t = const volatile T;

// Code is generated without address spaces: only what qualifies a constant goes.
template <class T>
struct remove_addrspace {
    typedef __remove_cv(T) type;
};
template <class T>
using remove_addrspace_t = __remove_cv(T);

template <class T>
__add_rvalue_reference(T) declval() noexcept;
template <class F, class... A>
struct invoke_result {
    typedef decltype(declval<F>()(declval<A>()...)) type;
};
template <class F, class... A>
using invoke_result_t = typename invoke_result<F, A...>::type;
template <class F>
struct result_of;
template <class F, class... A>
struct result_of<F(A...)> : invoke_result<F, A...> {};
template <class F>
using result_of_t = typename result_of<F>::type;

template <class... T>
struct common_type;
template <class T>
struct common_type<T> {
    typedef __decay(T) type;
};
template <class T, class U>
struct common_type<T, U> {
    typedef __decay(decltype(false ? declval<T>() : declval<U>())) type;
};
template <class T, class U, class... R>
struct common_type<T, U, R...> : common_type<typename common_type<T, U>::type, R...> {};
template <class... T>
using common_type_t = typename common_type<T...>::type;

// ---- Asking about types

#define SM_PREDICATE(name, expression)           \
    template <class T>                           \
    inline constexpr bool name##_v = expression; \
    template <class T>                           \
    struct name : bool_constant<expression> {};
SM_PREDICATE(is_void, __is_void(T))
SM_PREDICATE(is_integral, (__is_same(__remove_cv(T), bool) || sm::is_int_scalar<__remove_cv(T)>))
SM_PREDICATE(is_floating_point, sm::is_float_scalar<__remove_cv(T)>)
SM_PREDICATE(is_arithmetic, sm::is_scalar<__remove_cv(T)>)
SM_PREDICATE(is_array, __is_array(T))
SM_PREDICATE(is_enum, __is_enum(T))
SM_PREDICATE(is_union, __is_union(T))
SM_PREDICATE(is_class, __is_class(T))
SM_PREDICATE(is_function, __is_function(T))
SM_PREDICATE(is_pointer, __is_pointer(T))
SM_PREDICATE(is_lvalue_reference, __is_lvalue_reference(T))
SM_PREDICATE(is_rvalue_reference, __is_rvalue_reference(T))
SM_PREDICATE(is_reference, __is_reference(T))
SM_PREDICATE(is_fundamental, (sm::is_scalar<__remove_cv(T)> || __is_void(T)))
SM_PREDICATE(is_scalar, (sm::is_scalar<__remove_cv(T)> || __is_enum(T) || __is_pointer(T)))
SM_PREDICATE(is_object, __is_object(T))
SM_PREDICATE(is_compound, __is_compound(T))
SM_PREDICATE(is_const, __is_const(T))
SM_PREDICATE(is_volatile, __is_volatile(T))
SM_PREDICATE(is_trivial, __is_trivial(T))
SM_PREDICATE(is_trivially_copyable, __is_trivially_copyable(T))
SM_PREDICATE(is_standard_layout, __is_standard_layout(T))
SM_PREDICATE(is_pod, __is_pod(T))
SM_PREDICATE(is_literal_type, __is_literal(T))
SM_PREDICATE(is_polymorphic, __is_polymorphic(T))
SM_PREDICATE(is_abstract, __is_abstract(T))
SM_PREDICATE(is_final, __is_final(T))
SM_PREDICATE(is_aggregate, __is_aggregate(T))
SM_PREDICATE(is_default_constructible, __is_constructible(T))
SM_PREDICATE(is_copy_constructible, __is_constructible(T, __add_lvalue_reference(const T)))
SM_PREDICATE(is_move_constructible, __is_constructible(T, __add_rvalue_reference(T)))
SM_PREDICATE(is_signed, (__is_signed(T) || sm::is_float_scalar<__remove_cv(T)>))
SM_PREDICATE(is_unsigned, __is_unsigned(T))
SM_PREDICATE(alignment_of, alignof(T))
#undef SM_PREDICATE

template <class T, class U>
inline constexpr bool is_same_v = __is_same(T, U);
template <class T, class U>
struct is_same : bool_constant<__is_same(T, U)> {};
template <class B, class D>
inline constexpr bool is_base_of_v = __is_base_of(B, D);
template <class B, class D>
struct is_base_of : bool_constant<__is_base_of(B, D)> {};
template <class F, class T>
inline constexpr bool is_convertible_v = __is_convertible_to(F, T);
template <class F, class T>
struct is_convertible : bool_constant<__is_convertible_to(F, T)> {};
template <class T, class... A>
inline constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class U>
inline constexpr bool is_assignable_v = __is_assignable(T, U);
template <class T, class U>
struct is_assignable : bool_constant<__is_assignable(T, U)> {};

template <class T>
inline constexpr bool is_vector_v = false;
template <class T, int N>
inline constexpr bool is_vector_v<vec<T, N>> = true;
template <class T>
struct is_vector : bool_constant<is_vector_v<__remove_cv(T)>> {};

template <class T>
inline constexpr unsigned rank_v = 0;
template <class T>
inline constexpr unsigned rank_v<T[]> = 1 + rank_v<T>;
template <class T, size_t N>
inline constexpr unsigned rank_v<T[N]> = 1 + rank_v<T>;
template <class T>
struct rank : integral_constant<unsigned, rank_v<T>> {};
template <class T, unsigned I = 0>
inline constexpr size_t extent_v = 0;
template <class T, size_t N>
inline constexpr size_t extent_v<T[N], 0> = N;
template <class T, size_t N, unsigned I>
inline constexpr size_t extent_v<T[N], I> = extent_v<T, I - 1>;
template <class T, unsigned I = 0>
struct extent : integral_constant<size_t, extent_v<T, I>> {};

// ---- Combining answers. The names with an underscore are what MSL's own headers use and programs
// reach for under `#pragma METAL internals`.

template <class... B>
struct conjunction : true_type {};
template <class B>
struct conjunction<B> : B {};
template <class B, class... R>
struct conjunction<B, R...> : conditional_t<bool(B::value), conjunction<R...>, B> {};
template <class... B>
struct disjunction : false_type {};
template <class B>
struct disjunction<B> : B {};
template <class B, class... R>
struct disjunction<B, R...> : conditional_t<bool(B::value), B, disjunction<R...>> {};
template <class B>
struct negation : bool_constant<!bool(B::value)> {};
template <class... B>
inline constexpr bool conjunction_v = conjunction<B...>::value;
template <class... B>
inline constexpr bool disjunction_v = disjunction<B...>::value;
template <class B>
inline constexpr bool negation_v = negation<B>::value;
template <class... B>
using _conjunction = conjunction<B...>;
template <class... B>
using _disjunction = disjunction<B...>;
template <class B>
using _negation = negation<B>;

template <class T, T... I>
struct integer_sequence {
    typedef T value_type;
    static constexpr size_t size() { return sizeof...(I); }
};
template <size_t... I>
using index_sequence = integer_sequence<size_t, I...>;
template <class T, T N>
using make_integer_sequence = __make_integer_seq<integer_sequence, T, N>;
template <size_t N>
using make_index_sequence = make_integer_sequence<size_t, N>;
template <class... T>
using index_sequence_for = make_index_sequence<sizeof...(T)>;

}  // namespace metal
