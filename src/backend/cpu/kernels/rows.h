#pragma once
// One row at a time: RMS norm, softmax, rotation. Sums run in eight partial sums of fixed order.

#include <cstddef>

#include "backend/cpu/kernels/elementwise.h"

namespace minfer::cpu {

template <class S>
struct Rows {
    static void rms_norm(const float* x, const float* weight, float eps, float* out, size_t n) {
        auto squares = S::zero();
        size_t i = 0;
        for (; i + S::kWidth <= n; i += S::kWidth) {
            const auto v = S::load(x + i);
            squares = S::fma(v, v, squares);
        }
        if (i < n) {
            const auto v = S::load_part(x + i, n - i);
            squares = S::fma(v, v, squares);
        }
        const float mean = S::sum(squares) / static_cast<float>(n);
        const auto inverse = S::splat(1.f / __builtin_sqrtf(mean + eps));
        map2<S>(x, weight, out, n,
                [inverse](auto v, auto w) { return S::mul(S::mul(v, inverse), w); });
    }

    // out[i] = exp(x[i] - largest), their sum returned.
    static float exponentials(const float* x, float* out, size_t n) {
        // Lanes past the end repeat x[0], which changes no maximum.
        auto most = S::splat(x[0]);
        size_t i = 0;
        for (; i + S::kWidth <= n; i += S::kWidth) most = S::max(most, S::load(x + i));
        float largest = S::max_lane(most);
        for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;

        const auto shift = S::splat(largest);
        auto total = S::zero();
        i = 0;
        for (; i + S::kWidth <= n; i += S::kWidth) {
            const auto e = exp<S>(S::sub(S::load(x + i), shift));
            total = S::add(total, e);
            S::store(out + i, e);
        }
        if (i < n) {
            S::store_part(out + i, exp<S>(S::sub(S::load_part(x + i, n - i), shift)), n - i);
            total = S::add(total, S::load_part(out + i, n - i));
        }
        return S::sum(total);
    }

    static void softmax(const float* x, float* out, size_t n) {
        const auto inverse = S::splat(1.f / exponentials(x, out, n));
        map1<S>(out, out, n, [inverse](auto v) { return S::mul(v, inverse); });
    }

    static void rope(const float* x, const float* cosine, const float* sine, float* out,
                     size_t half) {
        const auto rotate = [&](auto load, auto store, size_t i) {
            const auto a = load(x + i), b = load(x + half + i);
            const auto c = load(cosine + i), s = load(sine + i);
            store(out + i, S::sub(S::mul(a, c), S::mul(b, s)));
            store(out + half + i, S::add(S::mul(a, s), S::mul(b, c)));
        };
        size_t i = 0;
        for (; i + S::kWidth <= half; i += S::kWidth) rotate(S::load, S::store, i);
        const auto left = half - i;
        if (left)
            rotate([left](const float* p) { return S::load_part(p, left); },
                   [left](float* p, typename S::F v) { S::store_part(p, v, left); }, i);
    }
};

}  // namespace minfer::cpu
