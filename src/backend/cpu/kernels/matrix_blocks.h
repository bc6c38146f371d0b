#pragma once
// Dot products of the 32-wide quantised types with activations of 32 bytes to a scale: an integer
// sum per block, scaled and added to eight partial sums in the order of the blocks.

#include <cstddef>

#include "backend/cpu/kernels/tiles.h"
#include "tensor/blocks.h"

namespace minfer::cpu {

// How each type unpacks: 32 quants, signed or unsigned; with kMinimum a value is d * q + m.
template <class S>
struct QuantsQ8_0 {
    using Block = BlockQ8_0;
    static constexpr bool kSigned = true, kMinimum = false;
    static auto quants(const Block& block) { return S::load_i8(block.quants); }
};
template <class S>
struct QuantsQ4_0 {
    using Block = BlockQ4_0;
    static constexpr bool kSigned = true, kMinimum = false;
    static auto quants(const Block& block) { return S::sub_i8(S::nibbles(block.quants), 8); }
};
template <class S>
struct QuantsQ4_1 {
    using Block = BlockQ4_1;
    static constexpr bool kSigned = false, kMinimum = true;
    static auto quants(const Block& block) { return S::nibbles(block.quants); }
};
template <class S>
struct QuantsQ5_0 {
    using Block = BlockQ5_0;
    static constexpr bool kSigned = true, kMinimum = false;
    static auto quants(const Block& block) {
        return S::sub_i8(S::or_i8(S::nibbles(block.quants), S::spread_bits(block.high_bits, 16)),
                         16);
    }
};
template <class S>
struct QuantsQ5_1 {
    using Block = BlockQ5_1;
    static constexpr bool kSigned = false, kMinimum = true;
    static auto quants(const Block& block) {
        return S::or_i8(S::nibbles(block.quants), S::spread_bits(block.high_bits, 16));
    }
};

template <class S, class Q>
struct BlockTile {
    // Unpacking a block costs as much as a product: more tokens than rows.
    static constexpr int kRows = 2, kTokens = 4;

    template <int R, int T>
    static void run(const MatRows& a, size_t row, size_t token) {
        using Block = typename Q::Block;
        const auto n_blocks = a.in_dim / 32;
        const Block* w[R];
        const std::byte* x[T];  // quants, then scales, then scaled sums
        typename S::F sum[R][T];
        float minimum[R][T] = {};
        for (int r = 0; r < R; ++r) w[r] = reinterpret_cast<const Block*>(weight_row(a, row + r));
        for (int t = 0; t < T; ++t) x[t] = act_row(a, token + t);
        for (auto& of_row : sum)
            for (auto& s : of_row) s = S::zero();

        for (size_t b = 0; b < n_blocks; ++b) {
            for (int r = 0; r < R; ++r) {
                const auto& block = w[r][b];
                const auto q = Q::quants(block);
                const float d = S::half(block.d);
                for (int t = 0; t < T; ++t) {
                    const auto y = S::load_i8(x[t] + b * 32);
                    const auto* const scale = reinterpret_cast<const float*>(x[t] + a.in_dim);
                    const auto dot = S::to_f(Q::kSigned ? S::dot_i8(q, y) : S::dot_u8(q, y));
                    sum[r][t] = S::fma(dot, S::splat(d * scale[b]), sum[r][t]);
                    if constexpr (Q::kMinimum)
                        minimum[r][t] += S::half(block.m) * scale[n_blocks + b];
                }
            }
        }
        for (int r = 0; r < R; ++r)
            for (int t = 0; t < T; ++t)
                store_result(a, row + r, token + t, S::sum(sum[r][t]) + minimum[r][t]);
    }
};

}  // namespace minfer::cpu
