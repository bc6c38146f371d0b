#pragma once
// One head of one token: scores over the window, softmax, values summed in window order.

#include <cstddef>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/rows.h"

namespace minfer::cpu {

// How f32 cells are read; another cell format is another struct with the same two functions.
template <class S>
struct CellsF32 {
    static typename S::F load(const std::byte* cell, size_t i) {
        return S::load(reinterpret_cast<const float*>(cell) + i);
    }
    static typename S::F load_part(const std::byte* cell, size_t i, size_t n) {
        return S::load_part(reinterpret_cast<const float*>(cell) + i, n);
    }
};

template <class S, class Cells>
struct Attention {
    static float dot(const float* q, const std::byte* cell, size_t n) {
        auto sum = S::zero();
        size_t i = 0;
        for (; i + S::kWidth <= n; i += S::kWidth)
            sum = S::fma(S::load(q + i), Cells::load(cell, i), sum);
        if (i < n) sum = S::fma(S::load_part(q + i, n - i), Cells::load_part(cell, i, n - i), sum);
        return S::sum(sum);
    }

    // out[i] for kVectors * 8 elements from `first`: registers hold them over the whole window.
    template <int kVectors>
    static void sum_values(const AttentionHead& a, size_t first, float inverse) {
        typename S::F sum[kVectors];
        for (auto& x : sum) x = S::zero();
        const float* weight = a.scores;
        for (size_t run = 0; run < a.n_runs; ++run) {
            const auto* cell = a.v + a.runs[run].cell * a.row_bytes;
            for (size_t c = 0; c < a.runs[run].count; ++c, cell += a.row_bytes, ++weight) {
                const auto w = S::splat(*weight);
                for (size_t j = 0; j < kVectors; ++j)
                    sum[j] = S::fma(w, Cells::load(cell, first + j * S::kWidth), sum[j]);
            }
        }
        for (size_t j = 0; j < kVectors; ++j)
            S::store(a.out + first + j * S::kWidth, S::mul(sum[j], S::splat(inverse)));
    }

    static void sum_values_part(const AttentionHead& a, size_t first, float inverse) {
        const auto left = a.head_dim - first;
        auto sum = S::zero();
        const float* weight = a.scores;
        for (size_t run = 0; run < a.n_runs; ++run) {
            const auto* cell = a.v + a.runs[run].cell * a.row_bytes;
            for (size_t c = 0; c < a.runs[run].count; ++c, cell += a.row_bytes, ++weight)
                sum = S::fma(S::splat(*weight), Cells::load_part(cell, first, left), sum);
        }
        S::store_part(a.out + first, S::mul(sum, S::splat(inverse)), left);
    }

    static void run(const AttentionHead& a) {
        float* score = a.scores;
        for (size_t run = 0; run < a.n_runs; ++run) {
            const auto* cell = a.k + a.runs[run].cell * a.row_bytes;
            for (size_t c = 0; c < a.runs[run].count; ++c, cell += a.row_bytes)
                *score++ = a.scale * dot(a.q, cell, a.head_dim);
        }
        const auto window = static_cast<size_t>(score - a.scores);
        const float inverse = 1.f / Rows<S>::exponentials(a.scores, a.scores, window);
        size_t i = 0;
        for (; i + 8 * S::kWidth <= a.head_dim; i += 8 * S::kWidth) sum_values<8>(a, i, inverse);
        for (; i + S::kWidth <= a.head_dim; i += S::kWidth) sum_values<1>(a, i, inverse);
        if (i < a.head_dim) sum_values_part(a, i, inverse);
    }
};

}  // namespace minfer::cpu
