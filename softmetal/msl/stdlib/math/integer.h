// <metal_integer>.
#pragma once

namespace metal {
namespace sm {

// One lane at a time, where clang has no builtin for vectors; the optimiser joins them again.
template <class V, class F>
SM_FN V map_lanes(F f, const V& a) {
    if constexpr (shape<V>::lanes == 0) {
        return f(a);
    } else {
        V r;
        for (int i = 0; i < shape<V>::lanes; i++) r[i] = f(a[i]);
        return r;
    }
}
template <class V, class F>
SM_FN V map_lanes(F f, const V& a, const V& b) {
    if constexpr (shape<V>::lanes == 0) {
        return f(a, b);
    } else {
        V r;
        for (int i = 0; i < shape<V>::lanes; i++) r[i] = f(a[i], b[i]);
        return r;
    }
}

// Twice as wide, and as wide without a sign.
template <class T>
struct double_width;
template <>
struct double_width<char> {
    typedef int type;
};
template <>
struct double_width<signed char> {
    typedef int type;
};
template <>
struct double_width<unsigned char> {
    typedef unsigned type;
};
template <>
struct double_width<short> {
    typedef int type;
};
template <>
struct double_width<unsigned short> {
    typedef unsigned type;
};
template <>
struct double_width<int> {
    typedef long type;
};
template <>
struct double_width<unsigned> {
    typedef unsigned long type;
};
template <>
struct double_width<long> {
    typedef __int128 type;
};
template <>
struct double_width<unsigned long> {
    typedef unsigned __int128 type;
};
template <>
struct double_width<long long> {
    typedef __int128 type;
};
template <>
struct double_width<unsigned long long> {
    typedef unsigned __int128 type;
};
template <class T>
using wide_int = typename double_width<T>::type;
template <class V>
using unsigned_like = with_element_t<V, __make_unsigned(element_of_t<V>)>;

template <class T>
SM_FN T saturated(wide_int<T> x) {
    typedef numeric_limits<T> Limits;
    if (x > static_cast<wide_int<T>>(Limits::max())) return Limits::max();
    if (x < static_cast<wide_int<T>>(Limits::min())) return Limits::min();
    return static_cast<T>(x);
}

// clang's own functions take what is shorter than an int as an int.
template <class T>
SM_FN T add_saturated(T a, T b) {
    if constexpr (sizeof(T) < 4)
        return saturated<T>(wide_int<T>(a) + wide_int<T>(b));
    else
        return __builtin_elementwise_add_sat(a, b);
}
template <class T>
SM_FN T subtract_saturated(T a, T b) {
    // Of unsigned ones as int, where the difference may be negative.
    if constexpr (sizeof(T) < 4) {
        int difference = static_cast<int>(a) - static_cast<int>(b);
        int low = numeric_limits<T>::min(), high = numeric_limits<T>::max();
        return static_cast<T>(difference < low ? low : difference > high ? high : difference);
    } else {
        return __builtin_elementwise_sub_sat(a, b);
    }
}
SM_FN unsigned char reversed(unsigned char x) { return __builtin_bitreverse8(x); }
SM_FN unsigned short reversed(unsigned short x) { return __builtin_bitreverse16(x); }
SM_FN unsigned reversed(unsigned x) { return __builtin_bitreverse32(x); }
SM_FN unsigned long reversed(unsigned long x) { return __builtin_bitreverse64(x); }

}  // namespace sm

#define SM_INT_1(name, expression)                            \
    template <class A>                                        \
    SM_FN sm::int1<A> name(A x) {                             \
        typedef sm::value_of<A> V;                            \
        typedef sm::element_of_t<V> T;                        \
        typedef __make_unsigned(T) U;                         \
        [[maybe_unused]] constexpr int kBits = sizeof(T) * 8; \
        return sm::map_lanes<V>(                              \
            [](T a) __attribute__((always_inline)) {          \
                [[maybe_unused]] U u = static_cast<U>(a);     \
                return static_cast<T>(expression);            \
            },                                                \
            x);                                               \
    }
#define SM_INT_2(name, expression)                                                                 \
    template <class A, class B>                                                                    \
    SM_FN sm::int2_of<A, B> name(A x, B y) {                                                       \
        typedef sm::value2<A, B> V;                                                                \
        typedef sm::element_of_t<V> T;                                                             \
        [[maybe_unused]] constexpr int kBits = sizeof(T) * 8;                                      \
        return sm::map_lanes<V>(                                                                   \
            [](T a, T b) __attribute__((always_inline)) { return static_cast<T>(expression); }, x, \
            y);                                                                                    \
    }

SM_INT_1(clz, __builtin_clzg(u, kBits))
SM_INT_1(ctz, __builtin_ctzg(u, kBits))
SM_INT_1(popcount, __builtin_popcountg(u))
SM_INT_1(reverse_bits, sm::reversed(u))

SM_INT_2(addsat, sm::add_saturated(a, b))
SM_INT_2(subsat, sm::subtract_saturated(a, b))
// Half of the sum, without losing its carry; rhadd rounds up.
SM_INT_2(hadd, (a & b) + ((a ^ b) >> 1))
SM_INT_2(rhadd, (a | b) - ((a ^ b) >> 1))
SM_INT_2(mulhi, (static_cast<sm::wide_int<T>>(a) * static_cast<sm::wide_int<T>>(b)) >> kBits)
#undef SM_INT_1
#undef SM_INT_2

template <class A, class B>
SM_FN sm::int2_of<A, B> rotate(A x, B by) {
    typedef sm::value2<A, B> V;
    typedef sm::element_of_t<V> T;
    typedef __make_unsigned(T) U;
    constexpr U kMask = sizeof(T) * 8 - 1;
    return sm::map_lanes<V>(
        [](T a, T b) __attribute__((always_inline)) {
            U left = static_cast<U>(b) & kMask, right = (0 - left) & kMask,
              bits = static_cast<U>(a);
            return static_cast<T>(static_cast<U>(bits << left) | static_cast<U>(bits >> right));
        },
        x, by);
}

// |x|; of the lowest number, itself. Floats are welcome too.
template <class A>
SM_FN constexpr sm::value_of<A> abs(A x) {
    typedef sm::value_of<A> V;
    typedef sm::element_of_t<V> T;
    if constexpr (sm::is_float_shape<V>) {
        return metal::fabs(x);
    } else if constexpr (!sm::is_signed_element<T>) {
        return x;
    } else if constexpr (sm::shape<V>::lanes == 0) {
        typedef __make_unsigned(T) U;
        return x < 0 ? static_cast<T>(U(0) - static_cast<U>(x)) : static_cast<T>(x);
    } else {
        return sm::from_native<V>(__builtin_elementwise_abs(sm::native_of(V(x))));
    }
}
// The distance between two numbers: unsigned, so that it always fits.
template <class A, class B>
SM_FN sm::unsigned_like<sm::int2_of<A, B>> absdiff(A x, B y) {
    typedef sm::value2<A, B> V;
    typedef sm::unsigned_like<V> R;
    V a = x, b = y;
    return R(metal::max(a, b)) - R(metal::min(a, b));
}

template <class A, class B, class C>
SM_FN sm::int3_of<A, B, C> madhi(A a, B b, C c) {
    typedef sm::value3<A, B, C> V;
    return static_cast<V>(metal::mulhi(V(a), V(b)) + V(c));
}
template <class A, class B, class C>
SM_FN sm::int3_of<A, B, C> madsat(A a, B b, C c) {
    typedef sm::value3<A, B, C> V;
    typedef sm::element_of_t<V> T;
    V x = a, y = b, z = c;
    auto one = [](T p, T q, T r) __attribute__((always_inline)) {
        typedef sm::wide_int<T> W;
        return sm::saturated<T>(static_cast<W>(p) * static_cast<W>(q) + static_cast<W>(r));
    };
    if constexpr (sm::shape<V>::lanes == 0) {
        return one(x, y, z);
    } else {
        V result;
        for (int i = 0; i < sm::shape<V>::lanes; i++) result[i] = one(x[i], y[i], z[i]);
        return result;
    }
}

// Products of the low 24 bits of each operand, for int and uint.
template <class A, class B>
SM_FN sm::int2_of<A, B> mul24(A x, B y) {
    typedef sm::value2<A, B> V;
    V a = V(x) << 8, b = V(y) << 8;
    return (a >> 8) * (b >> 8);
}
template <class A, class B, class C>
SM_FN sm::int3_of<A, B, C> mad24(A x, B y, C z) {
    typedef sm::value3<A, B, C> V;
    return metal::mul24(V(x), V(y)) + V(z);
}

// Bits [offset, offset + bits) of x, with the sign of the highest where T has signs.
template <class A>
SM_FN sm::int1<A> extract_bits(A x, uint offset, uint bits) {
    typedef sm::value_of<A> V;
    typedef sm::element_of_t<V> T;
    constexpr uint kBits = sizeof(T) * 8;
    if (bits == 0) return V(0);
    V high = V(V(x) << static_cast<T>(kBits - offset - bits));
    return V(high >> static_cast<T>(kBits - bits));
}
template <class A, class B>
SM_FN sm::int2_of<A, B> insert_bits(A base, B insert, uint offset, uint bits) {
    typedef sm::value2<A, B> V;
    typedef sm::element_of_t<V> T;
    typedef __make_unsigned(T) U;
    constexpr uint kBits = sizeof(T) * 8;
    if (bits == 0) return base;
    T mask = static_cast<T>(static_cast<U>(static_cast<U>(~U(0)) >> (kBits - bits)) << offset);
    V moved = V(V(insert) << static_cast<T>(offset));
    return V((V(base) & static_cast<T>(~mask)) | (moved & mask));
}

}  // namespace metal
