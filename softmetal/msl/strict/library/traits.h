// <metal_type_traits>, <metal_limits>, metal::array and as_type.
#pragma once

namespace metal {

template <class T, T V>
struct integral_constant {
    static constexpr T value = V;
    typedef T value_type;
    typedef integral_constant type;
    constexpr operator T() const { return V; }
    constexpr T operator()() const { return V; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

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
    using name##_t = typename name<T>::type;
SM_TRANSFORM(remove_reference, __remove_reference_t)
SM_TRANSFORM(remove_const, __remove_const)
SM_TRANSFORM(remove_volatile, __remove_volatile)
SM_TRANSFORM(remove_cv, __remove_cv)
SM_TRANSFORM(remove_pointer, __remove_pointer)
SM_TRANSFORM(remove_extent, __remove_extent)
SM_TRANSFORM(remove_all_extents, __remove_all_extents)
SM_TRANSFORM(decay, __decay)
SM_TRANSFORM(make_signed, __make_signed)
SM_TRANSFORM(make_unsigned, __make_unsigned)
SM_TRANSFORM(underlying_type, __underlying_type)
#undef SM_TRANSFORM
#define SM_ADD(name, added) \
    template <class T>      \
    struct name {           \
        typedef added type; \
    };                      \
    template <class T>      \
    using name##_t = added;
SM_ADD(add_const, const T)
SM_ADD(add_volatile, volatile T)
SM_ADD(add_cv, const volatile T)
#undef SM_ADD

namespace sm {
template <class T>
struct addrspace {
    typedef T removed;
};
#define SM_SPACE(space)                        \
    template <class T>                         \
    struct addrspace<space T> {                \
        typedef T removed;                     \
    };                                         \
    template <class T>                         \
    struct addrspace<const space T> {          \
        typedef const T removed;               \
    };                                         \
    template <class T>                         \
    struct addrspace<volatile space T> {       \
        typedef volatile T removed;            \
    };                                         \
    template <class T>                         \
    struct addrspace<const volatile space T> { \
        typedef const volatile T removed;      \
    };
SM_SPACE(device)
SM_SPACE(threadgroup)
SM_SPACE(thread)
SM_SPACE(__global)
#undef SM_SPACE
}  // namespace sm
template <class T>
struct remove_addrspace {
    typedef typename sm::addrspace<T>::removed type;
};
template <class T>
using remove_addrspace_t = typename remove_addrspace<T>::type;

template <class T>
T declval();
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

#define SM_PREDICATE(name, expression)    \
    template <class T>                    \
    constexpr bool name##_v = expression; \
    template <class T>                    \
    struct name : bool_constant<expression> {};
#define SM_BARE typename sm::addrspace<__remove_cv(T)>::removed
SM_PREDICATE(is_void, __is_void(T))
SM_PREDICATE(is_integral, (__is_same(SM_BARE, bool) || sm::is_int<SM_BARE>))
SM_PREDICATE(is_floating_point, sm::is_float<SM_BARE>)
SM_PREDICATE(is_arithmetic, sm::is_scalar<SM_BARE>)
SM_PREDICATE(is_vector, sm::is_vector_type<SM_BARE>::value)
SM_PREDICATE(is_array, __is_array(T))
SM_PREDICATE(is_enum, __is_enum(T))
SM_PREDICATE(is_union, __is_union(T))
SM_PREDICATE(is_class, __is_class(T))
SM_PREDICATE(is_function, __is_function(T))
SM_PREDICATE(is_pointer, __is_pointer(T))
SM_PREDICATE(is_lvalue_reference, __is_lvalue_reference(T))
SM_PREDICATE(is_rvalue_reference, __is_rvalue_reference(T))
SM_PREDICATE(is_reference, __is_reference(T))
SM_PREDICATE(is_fundamental, (sm::is_scalar<SM_BARE> || __is_void(T)))
SM_PREDICATE(is_scalar, (sm::is_scalar<SM_BARE> || __is_enum(T) || __is_pointer(T)))
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
SM_PREDICATE(is_default_constructible, __is_constructible(T))
SM_PREDICATE(is_signed, __is_signed(T))
SM_PREDICATE(is_unsigned, __is_unsigned(T))
#undef SM_PREDICATE
#undef SM_BARE
template <class T>
struct alignment_of : integral_constant<size_t, alignof(T)> {};

template <class T, class U>
constexpr bool is_same_v = __is_same(T, U);
template <class T, class U>
struct is_same : bool_constant<__is_same(T, U)> {};
template <class B, class D>
constexpr bool is_base_of_v = __is_base_of(B, D);
template <class B, class D>
struct is_base_of : bool_constant<__is_base_of(B, D)> {};
template <class F, class T>
constexpr bool is_convertible_v = __is_convertible_to(F, T);
template <class F, class T>
struct is_convertible : bool_constant<__is_convertible_to(F, T)> {};
template <class T, class... A>
constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};

template <class T>
constexpr unsigned rank_v = 0;
template <class T>
constexpr unsigned rank_v<T[]> = 1 + rank_v<T>;
template <class T, size_t N>
constexpr unsigned rank_v<T[N]> = 1 + rank_v<T>;
template <class T>
struct rank : integral_constant<unsigned, rank_v<T>> {};
template <class T, unsigned I = 0>
constexpr size_t extent_v = 0;
template <class T, size_t N>
constexpr size_t extent_v<T[N], 0> = N;
template <class T, size_t N, unsigned I>
constexpr size_t extent_v<T[N], I> = extent_v<T, I - 1>;
template <class T, unsigned I = 0>
struct extent : integral_constant<size_t, extent_v<T, I>> {};

// What MSL's own headers use, reached for under `#pragma METAL internals`.
template <class... B>
struct _disjunction : false_type {};
template <class B>
struct _disjunction<B> : B {};
template <class B, class... R>
struct _disjunction<B, R...> : conditional_t<bool(B::value), B, _disjunction<R...>> {};
template <class... B>
struct _conjunction : true_type {};
template <class B>
struct _conjunction<B> : B {};
template <class B, class... R>
struct _conjunction<B, R...> : conditional_t<bool(B::value), _conjunction<R...>, B> {};
template <class B>
struct _negation : bool_constant<!bool(B::value)> {};
template <class... B>
using conjunction = _conjunction<B...>;
template <class... B>
using disjunction = _disjunction<B...>;
template <class B>
using negation = _negation<B>;

// ---- Limits

template <class T>
struct numeric_limits {
    static constexpr bool is_specialized = false;
};
namespace sm {
template <class T, bool IsInteger, bool IsSigned, int Digits>
struct limits {
    static constexpr bool is_specialized = true, is_integer = IsInteger, is_exact = IsInteger;
    static constexpr bool is_signed = IsSigned, is_bounded = true, is_iec559 = !IsInteger;
    static constexpr bool has_infinity = !IsInteger, has_quiet_NaN = !IsInteger;
    static constexpr bool has_signaling_NaN = !IsInteger;
    static constexpr bool is_modulo = IsInteger && !IsSigned, traps = false;
    static constexpr int radix = 2, digits = Digits;
    static constexpr int digits10 =
        IsInteger ? digits * 30103 / 100000 : (digits - 1) * 30103 / 100000;
    static constexpr int max_digits10 = IsInteger ? 0 : 2 + digits * 30103 / 100000;
    static constexpr T max() {
        return IsInteger ? T((((1ul << (sizeof(T) * 8 - IsSigned - 1)) - 1) << 1) + 1) : T(65504);
    }
    static constexpr T min() { return IsInteger && IsSigned ? T(-max() - T(1)) : T(0); }
    static constexpr T lowest() { return IsInteger ? min() : T(-max()); }
    static constexpr T epsilon() { return T(0); }
    static constexpr T round_error() { return T(0); }
    static constexpr T infinity() { return IsInteger ? T(0) : T(__builtin_inff()); }
    static constexpr T quiet_NaN() { return IsInteger ? T(0) : T(__builtin_nanf("")); }
    static constexpr T signaling_NaN() { return quiet_NaN(); }
    static constexpr T denorm_min() { return T(0); }
};
}  // namespace sm
template <>
struct numeric_limits<bool> : sm::limits<bool, true, false, 1> {
    static constexpr bool max() { return true; }
};
#define SM_LIMITS(T, IsInteger, IsSigned, Digits) \
    template <>                                   \
    struct numeric_limits<T> : sm::limits<T, IsInteger, IsSigned, Digits> {};
SM_LIMITS(char, true, true, 7)
SM_LIMITS(signed char, true, true, 7)
SM_LIMITS(uchar, true, false, 8)
SM_LIMITS(short, true, true, 15)
SM_LIMITS(ushort, true, false, 16)
SM_LIMITS(int, true, true, 31)
SM_LIMITS(uint, true, false, 32)
SM_LIMITS(long, true, true, 63)
SM_LIMITS(ulong, true, false, 64)
#undef SM_LIMITS
#define SM_LIMITS(T, Digits, MinExponent, MaxExponent, Max, Min, Epsilon)            \
    template <>                                                                      \
    struct numeric_limits<T> : sm::limits<T, false, true, Digits> {                  \
        static constexpr int min_exponent = MinExponent, max_exponent = MaxExponent; \
        static constexpr int min_exponent10 = -(-MinExponent * 30103 / 100000);      \
        static constexpr int max_exponent10 = MaxExponent * 30103 / 100000;          \
        static constexpr T max() { return T(Max); }                                  \
        static constexpr T lowest() { return T(-Max); }                              \
        static constexpr T min() { return T(Min); }                                  \
        static constexpr T epsilon() { return T(Epsilon); }                          \
        static constexpr T denorm_min() { return T(Min * Epsilon); }                 \
        static constexpr T round_error() { return T(0.5f); }                         \
    };
SM_LIMITS(float, 24, -125, 128, 0x1.fffffep127f, 0x1p-126f, 0x1p-23f)
SM_LIMITS(half, 11, -13, 16, 0x1.ffcp15f, 0x1p-14f, 0x1p-10f)
SM_LIMITS(bfloat, 8, -125, 128, 0x1.fep127f, 0x1p-126f, 0x1p-7f)
#undef SM_LIMITS

// ---- array

template <class T, size_t N>
struct array {
    T __elems[N > 0 ? N : 1];

    typedef T value_type;
    constexpr size_t size() const { return N; }
    constexpr bool empty() const { return N == 0; }
    constexpr thread T& operator[](size_t i) thread& { return __elems[i]; }
    constexpr const thread T& operator[](size_t i) const thread& { return __elems[i]; }
    threadgroup T& operator[](size_t i) threadgroup&;
    const threadgroup T& operator[](size_t i) const threadgroup&;
    constexpr constant T& operator[](size_t i) constant& { return __elems[i]; }
    device T& operator[](size_t i) __generic&;
    const device T& operator[](size_t i) const __generic&;
    // Of a value that no variable holds.
    constexpr const T& operator[](size_t i) const&& { return __elems[i]; }
    thread T* data() thread;
    const thread T* data() const thread;
    threadgroup T* data() threadgroup;
    constant T* data() constant;
    device T* data() __generic;
    const device T* data() const __generic;
    thread T* begin() thread;
    thread T* end() thread;
    const thread T* begin() const thread;
    const thread T* end() const thread;
    threadgroup T* begin() threadgroup;
    threadgroup T* end() threadgroup;
    constant T* begin() constant;
    constant T* end() constant;
    device T* begin() __generic;
    device T* end() __generic;
    const device T* begin() const __generic;
    const device T* end() const __generic;
    thread T& front() thread;
    thread T& back() thread;
    void fill(const T& value);
};

}  // namespace metal

// The same bits under another type of the same size.
template <class To, class From>
constexpr To as_type(From from) {
    static_assert(sizeof(To) == sizeof(From), "as_type needs two types of the same size");
    return __builtin_bit_cast(To, from);
}
namespace metal {
using ::as_type;
}

// The value of a function constant is known when a pipeline is made, not here.
template <class T>
bool is_function_constant_defined(const T& name);
