#pragma once
// One head of one token: scores over the window, softmax, values summed in window order.

#include <cstddef>

#include "backend/cpu/kernels/cells.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/quantize.h"
#include "backend/cpu/kernels/rows.h"

namespace minfer::cpu {

// Calls f(cell, weight) for the cells of the window in order.
template <class Function>
void for_window(const AttentionHead& a, const std::byte* region, float* weight, Function f) {
    for (size_t run = 0; run < a.n_runs; ++run) {
        const auto* cell = region + a.runs[run].cell * a.row_bytes;
        for (size_t c = 0; c < a.runs[run].count; ++c, cell += a.row_bytes) f(cell, *weight++);
    }
}

// Elements of cells become floats, whatever the format and wherever in a cell the head lies.
template <class S, class Cells>
struct FloatHead {
    static void prepare(const AttentionHead&) {}

    static float dot(const AttentionHead& a, const std::byte* cell) {
        auto sum = S::zero();
        size_t i = 0;
        for (; i + S::kWidth <= a.head_dim; i += S::kWidth)
            sum = S::fma(S::load(a.q + i), Cells::load(cell, a.first + i), sum);
        const auto left = a.head_dim - i;
        if (left)
            sum =
                S::fma(S::load_part(a.q + i, left), Cells::load_part(cell, a.first + i, left), sum);
        return S::sum(sum);
    }

    // out[i …] of so many vectors: registers hold them over the whole window.
    template <int kVectors>
    static void sum_vectors(const AttentionHead& a, size_t i, float inverse) {
        typename S::F sum[kVectors];
        for (auto& x : sum) x = S::zero();
        for_window(a, a.v, a.scores, [&](const std::byte* cell, float weight) {
            const auto w = S::splat(weight);
            for (size_t j = 0; j < kVectors; ++j)
                sum[j] = S::fma(w, Cells::load(cell, a.first + i + j * S::kWidth), sum[j]);
        });
        for (size_t j = 0; j < kVectors; ++j)
            S::store(a.out + i + j * S::kWidth, S::mul(sum[j], S::splat(inverse)));
    }

    static void sum_part(const AttentionHead& a, size_t i, float inverse) {
        const auto left = a.head_dim - i;
        auto sum = S::zero();
        for_window(a, a.v, a.scores, [&](const std::byte* cell, float weight) {
            sum = S::fma(S::splat(weight), Cells::load_part(cell, a.first + i, left), sum);
        });
        S::store_part(a.out + i, S::mul(sum, S::splat(inverse)), left);
    }

    static void sum_values(const AttentionHead& a, float inverse) {
        size_t i = 0;
        for (; i + 8 * S::kWidth <= a.head_dim; i += 8 * S::kWidth) sum_vectors<8>(a, i, inverse);
        for (; i + S::kWidth <= a.head_dim; i += S::kWidth) sum_vectors<1>(a, i, inverse);
        if (i < a.head_dim) sum_part(a, i, inverse);
    }
};

// Heads of whole q8_0 blocks: scores are integer dot products with the query in 8 bits, values are
// summed as weight * scale * quant.
template <class S>
struct BlockHead {
    static void prepare(const AttentionHead& a) { Quantize<S>::q8(a.q, a.query, a.head_dim); }

    static const BlockQ8_0* blocks(const AttentionHead& a, const std::byte* cell) {
        return reinterpret_cast<const BlockQ8_0*>(cell) + a.first / kBlockValues;
    }

    static float dot(const AttentionHead& a, const std::byte* cell) {
        const auto* const k = blocks(a, cell);
        const auto* const scale = reinterpret_cast<const float*>(a.query + a.head_dim);
        auto sum = S::zero();
        for (size_t b = 0; b < a.head_dim / kBlockValues; ++b) {
            const auto products =
                S::dot_i8(S::load_i8(k[b].quants), S::load_i8(a.query + b * kBlockValues));
            sum = S::fma(S::to_f(products), S::splat(S::half(k[b].d) * scale[b]), sum);
        }
        return S::sum(sum);
    }

    // out of so many blocks from block `first` of the head on.
    template <int kBlocks>
    static void sum_blocks(const AttentionHead& a, size_t first, float inverse) {
        constexpr size_t kVectors = kBlockValues / S::kWidth;
        typename S::F sum[kBlocks][kVectors];
        for (auto& of_block : sum)
            for (auto& x : of_block) x = S::zero();
        for_window(a, a.v, a.scores, [&](const std::byte* cell, float weight) {
            const auto* const v = blocks(a, cell) + first;
            for (size_t b = 0; b < kBlocks; ++b) {
                const auto w = S::splat(weight * S::half(v[b].d));
                for (size_t j = 0; j < kVectors; ++j)
                    sum[b][j] = S::fma(w, S::widen_quants(v[b].quants + j * S::kWidth), sum[b][j]);
            }
        });
        auto* out = a.out + first * kBlockValues;
        for (const auto& of_block : sum)
            for (const auto& x : of_block) {
                S::store(out, S::mul(x, S::splat(inverse)));
                out += S::kWidth;
            }
    }

    static void sum_values(const AttentionHead& a, float inverse) {
        const auto n_blocks = a.head_dim / kBlockValues;
        size_t b = 0;
        for (; b + 2 <= n_blocks; b += 2) sum_blocks<2>(a, b, inverse);
        if (b < n_blocks) sum_blocks<1>(a, b, inverse);
    }
};

template <class S, class Head>
struct Attention {
    static void run(const AttentionHead& a) {
        Head::prepare(a);
        for_window(a, a.k, a.scores, [&](const std::byte* cell, float& score) {
            score = a.scale * Head::dot(a, cell);
        });
        size_t window = 0;
        for (size_t run = 0; run < a.n_runs; ++run) window += a.runs[run].count;
        Head::sum_values(a, 1.f / Rows<S>::exponentials(a.scores, a.scores, window));
    }
};

}  // namespace minfer::cpu
