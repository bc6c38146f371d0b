#pragma once
// Element by element: sums, products, SiLU, and the exponential they and softmax share.

#include <cstddef>

namespace minfer::cpu {

// Calls f on 8 elements at a time, the last time on what is left: the arithmetic of an element is
// the same wherever it stands.
template <class S, class Function>
void map1(const float* a, float* out, size_t n, Function f) {
    size_t i = 0;
    for (; i + S::kWidth <= n; i += S::kWidth) S::store(out + i, f(S::load(a + i)));
    if (i < n) S::store_part(out + i, f(S::load_part(a + i, n - i)), n - i);
}

template <class S, class Function>
void map2(const float* a, const float* b, float* out, size_t n, Function f) {
    size_t i = 0;
    for (; i + S::kWidth <= n; i += S::kWidth) S::store(out + i, f(S::load(a + i), S::load(b + i)));
    if (i < n)
        S::store_part(out + i, f(S::load_part(a + i, n - i), S::load_part(b + i, n - i)), n - i);
}

// e^x to about one unit in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, e^r by its Taylor
// series (the first term left out is below 2^-27), 2^n applied in two halves so that overflow
// reaches infinity and underflow passes through the subnormals. exp(0) is exactly 1; NaN stays.
template <class S>
typename S::F exp(typename S::F x) {
    // Constant first: max and min hand back their second operand when one is NaN.
    x = S::min(S::splat(90.f), S::max(S::splat(-110.f), x));
    const auto n = S::round(S::mul(x, S::splat(1.44269504f)));
    auto r = S::fma(n, S::splat(-0.693359375f), x);       // ln 2 to 9 bits: n times it is exact
    r = S::fma(n, S::splat(2.12194440054690583e-4f), r);  // what those bits are too large by
    auto p = S::splat(1.f / 5040);
    p = S::fma(p, r, S::splat(1.f / 720));
    p = S::fma(p, r, S::splat(1.f / 120));
    p = S::fma(p, r, S::splat(1.f / 24));
    p = S::fma(p, r, S::splat(1.f / 6));
    p = S::fma(p, r, S::splat(0.5f));
    p = S::fma(p, r, S::splat(1.f));
    p = S::fma(p, r, S::splat(1.f));
    const auto half = S::round(S::mul(n, S::splat(0.5f)));
    return S::mul(S::mul(p, S::exp2i(half)), S::exp2i(S::sub(n, half)));
}

template <class S>
typename S::F silu(typename S::F x) {
    const auto one = S::splat(1.f);
    return S::div(x, S::add(one, exp<S>(S::sub(S::zero(), x))));
}

template <class S>
struct Elementwise {
    static void add(const float* a, const float* b, float* out, size_t n) {
        map2<S>(a, b, out, n, [](auto x, auto y) { return S::add(x, y); });
    }
    static void mul(const float* a, const float* b, float* out, size_t n) {
        map2<S>(a, b, out, n, [](auto x, auto y) { return S::mul(x, y); });
    }
    static void scale(const float* x, float factor, float* out, size_t n) {
        map1<S>(x, out, n, [factor](auto v) { return S::mul(v, S::splat(factor)); });
    }
    static void silu(const float* x, float* out, size_t n) {
        map1<S>(x, out, n, [](auto v) { return cpu::silu<S>(v); });
    }
    static void swiglu(const float* gate, const float* up, float* out, size_t n) {
        map2<S>(gate, up, out, n, [](auto g, auto u) { return S::mul(cpu::silu<S>(g), u); });
    }
    static void to_f16(const float* x, std::byte* out, size_t n) {
        size_t i = 0;
        for (; i + S::kWidth <= n; i += S::kWidth) S::store_f16(out + i * 2, S::load(x + i));
        if (i == n) return;
        std::byte halves[S::kWidth * 2];
        S::store_f16(halves, S::load_part(x + i, n - i));
        __builtin_memcpy(out + i * 2, halves, (n - i) * 2);
    }
};

}  // namespace minfer::cpu
