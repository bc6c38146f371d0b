#pragma once
// Dot products of float rows: weights in F32, F16 or BF16, widened as they are loaded.

#include <cstddef>

#include "backend/cpu/kernels/tiles.h"

namespace minfer::cpu {

template <class S>
struct LoadF32 {
    static constexpr size_t kBytes = 4;
    static constexpr int kTokens = 3;
    static auto load(const std::byte* p) { return S::load(reinterpret_cast<const float*>(p)); }
    static auto load_part(const std::byte* p, size_t n) {
        return S::load_part(reinterpret_cast<const float*>(p), n);
    }
};
template <class S>
struct LoadF16 {
    static constexpr size_t kBytes = 2;
    static constexpr int kTokens = 2;  // at 3 the conversion is repeated for want of a register
    static auto load(const std::byte* p) { return S::load_f16(p); }
    static auto load_part(const std::byte* p, size_t n) { return S::load_f16_part(p, n); }
};
template <class S>
struct LoadBF16 {
    static constexpr size_t kBytes = 2;
    static constexpr int kTokens = 3;
    static auto load(const std::byte* p) { return S::load_bf16(p); }
    static auto load_part(const std::byte* p, size_t n) { return S::load_bf16_part(p, n); }
};

// Each output element is one vector of eight partial sums taken along the row.
template <class S, class W>
struct FloatTile {
    // Twelve or eight sums, the activations and one weight vector fill 16 registers.
    static constexpr int kRows = 4, kTokens = W::kTokens;

    template <int R, int T>
    static void run(const MatRows& a, size_t row, size_t token) {
        using F = typename S::F;
        const std::byte* w[R];
        const float* x[T];
        F sum[R][T];
        for (int r = 0; r < R; ++r) w[r] = weight_row(a, row + r);
        for (int t = 0; t < T; ++t) x[t] = reinterpret_cast<const float*>(act_row(a, token + t));
        for (auto& of_row : sum)
            for (auto& s : of_row) s = S::zero();

        const auto step = [&](auto load_w, auto load_x) __attribute__((always_inline)) {
            F xs[T];
            for (int t = 0; t < T; ++t) xs[t] = load_x(x[t]);
            for (int r = 0; r < R; ++r) {
                const F ws = load_w(w[r]);
                for (int t = 0; t < T; ++t) sum[r][t] = S::fma(ws, xs[t], sum[r][t]);
            }
        };
        size_t i = 0;
        for (; i + S::kWidth <= a.in_dim; i += S::kWidth)
            step([i](const std::byte* p) { return W::load(p + i * W::kBytes); },
                 [i](const float* p) { return S::load(p + i); });
        const auto left = a.in_dim - i;
        if (left)
            step([i, left](const std::byte* p) { return W::load_part(p + i * W::kBytes, left); },
                 [i, left](const float* p) { return S::load_part(p + i, left); });
        for (int r = 0; r < R; ++r)
            for (int t = 0; t < T; ++t) store_result(a, row + r, token + t, S::sum(sum[r][t]));
    }
};

}  // namespace minfer::cpu
