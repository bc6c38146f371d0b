// <metal_relational>: questions about floats, answered from their bits so that fast math cannot
// assume the answer; and selection.
#pragma once

namespace metal {
namespace sm {

template <class V>
using bool_like = with_element_t<V, bool>;

// The bits below the sign, as signed integers: they order like magnitudes.
template <class V>
SM_FN auto magnitude_bits(const V& x) {
    typedef element_of_t<V> E;
    typedef signed_bits<E> B;
    constexpr B kMask = static_cast<B>(~(B(1) << (sizeof(B) * 8 - 1)));
    if constexpr (shape<V>::lanes == 0) {
        return static_cast<B>(__builtin_bit_cast(B, x) & kMask);
    } else {
        return __builtin_bit_cast(ext<B, shape<V>::lanes>, x.raw()) & kMask;
    }
}
template <class E>
inline constexpr signed_bits<E> kInfinityBits =
    __builtin_bit_cast(signed_bits<E>, numeric_limits<E>::infinity());
template <class E>
inline constexpr signed_bits<E> kNormalBits =
    __builtin_bit_cast(signed_bits<E>, numeric_limits<E>::min());

// A clang comparison as a bool or a vector of them.
template <class V, class M>
SM_FN bool_like<V> answer(M mask) {
    if constexpr (shape<V>::lanes == 0) {
        return static_cast<bool>(mask);
    } else {
        return bool_like<V>::of(__builtin_convertvector(mask, native_t<bool, shape<V>::lanes>) &
                                static_cast<unsigned char>(1));
    }
}

}  // namespace sm

#define SM_QUESTION(name, expression)              \
    template <class A>                             \
    SM_FN sm::bool_like<sm::float1<A>> name(A x) { \
        typedef sm::value_of<A> V;                 \
        typedef sm::element_of_t<V> E;             \
        auto bits = sm::magnitude_bits<V>(x);      \
        return sm::answer<V>(expression);          \
    }
SM_QUESTION(isnan, bits > sm::kInfinityBits<E>)
SM_QUESTION(isinf, bits == sm::kInfinityBits<E>)
SM_QUESTION(isfinite, bits < sm::kInfinityBits<E>)
SM_QUESTION(isnormal, (bits < sm::kInfinityBits<E>)&(bits >= sm::kNormalBits<E>))
#undef SM_QUESTION

template <class A>
SM_FN sm::bool_like<sm::float1<A>> signbit(A x) {
    typedef sm::value_of<A> V;
    typedef sm::signed_bits<sm::element_of_t<V>> B;
    if constexpr (sm::shape<V>::lanes == 0)
        return __builtin_bit_cast(B, V(x)) < 0;
    else
        return sm::answer<V>(__builtin_bit_cast(sm::ext<B, sm::shape<V>::lanes>, V(x).raw()) < 0);
}
template <class A, class B>
SM_FN sm::bool_like<sm::float2_of<A, B>> isunordered(A x, B y) {
    typedef sm::value2<A, B> V;
    return metal::isnan(V(x)) || metal::isnan(V(y));
}
template <class A, class B>
SM_FN sm::bool_like<sm::float2_of<A, B>> isordered(A x, B y) {
    return !metal::isunordered(x, y);
}

#define SM_COMPARISON(name, op)                               \
    template <class A, class B>                               \
    SM_FN sm::bool_like<sm::float2_of<A, B>> name(A x, B y) { \
        typedef sm::value2<A, B> V;                           \
        return V(x) op V(y);                                  \
    }
SM_COMPARISON(isequal, ==)
SM_COMPARISON(isnotequal, !=)
SM_COMPARISON(isgreater, >)
SM_COMPARISON(isgreaterequal, >=)
SM_COMPARISON(isless, <)
SM_COMPARISON(islessequal, <=)
#undef SM_COMPARISON
template <class A, class B>
SM_FN sm::bool_like<sm::float2_of<A, B>> islessgreater(A x, B y) {
    typedef sm::value2<A, B> V;
    return (V(x) < V(y)) || (V(x) > V(y));
}

// ---- Selection

SM_FN constexpr bool any(bool x) { return x; }
SM_FN constexpr bool all(bool x) { return x; }
template <int N>
SM_FN bool any(vec<bool, N> x) {
    return __builtin_reduce_or(x.raw()) != 0;
}
template <int N>
SM_FN bool all(vec<bool, N> x) {
    return __builtin_reduce_and(x.raw()) != 0;
}

// b where c holds, a elsewhere.
template <class A, class B, class C>
    requires(sm::has_shape<C>)
SM_FN sm::value2<A, B> select(A a, B b, C c) {
    typedef sm::value2<A, B> V;
    if constexpr (sm::shape<C>::lanes == 0) {
        return c ? V(b) : V(a);
    } else {
        typedef sm::with_element_t<C, sm::element_of_t<V>> R;
        typedef sm::ext<sm::signed_bits<sm::element_of_t<V>>, sm::shape<R>::lanes> Mask;
        auto yes = __builtin_convertvector(sm::bool_like<C>(c).raw(), Mask) != 0;
        auto x = R(V(a)), y = R(V(b));
        return R::of(yes ? y.raw() : x.raw());
    }
}

}  // namespace metal
