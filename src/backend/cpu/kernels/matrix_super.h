#pragma once
// Dot products of the 256-wide K types with activations of 256 bytes to a scale: the group scales
// are small integers, so a whole block is summed in integers and enters the float sums once.

#include <cstddef>
#include <utility>

#include "backend/cpu/kernels/tiles.h"
#include "tensor/blocks.h"

namespace minfer::cpu {

// What a type has to say, as 16 groups of 16 values (32-wide groups count twice):
//   scales(block)     the group scales
//   offsets(block)    what is multiplied with the sums of 16 activations
//   quants<J>(block)  values 32 * J … 32 * J + 31, unsigned
//   finish(...)       adds one block to the partial sums, given both integer sums

// The packed scales (first) and minimums (second) of eight groups, as bytes 0 … 7 of a word: the
// layout of unpack_scale_min, all groups at once.
struct ScaleMinWords {
    uint64_t scales, minimums;
};
template <class S>
ScaleMinWords scale_min_words(const uint8_t* packed) {
    uint32_t a, b, c;  // bytes 0-3, 4-7, 8-11
    __builtin_memcpy(&a, packed, 4);
    __builtin_memcpy(&b, packed + 4, 4);
    __builtin_memcpy(&c, packed + 8, 4);
    const uint64_t scales_high = (c & 0x0f0f0f0f) | (a >> 2 & 0x30303030);
    const uint64_t minimums_high = (c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030);
    return {(a & 0x3f3f3f3f) | scales_high << 32, (b & 0x3f3f3f3f) | minimums_high << 32};
}

// x = d * scale * q - dmin * minimum
template <class S, class B>
struct ScaleAndMinimum {
    using Block = B;
    static constexpr bool kWideGroups = true;
    static auto scales(const Block& block) {
        return S::widen_twice(scale_min_words<S>(block.scales).scales);
    }
    static auto offsets(const Block& block) {
        return S::widen_twice(scale_min_words<S>(block.scales).minimums);
    }
    static auto finish(const Block& block, typename S::I32 dot, typename S::I32 offset, float scale,
                       typename S::F sum) {
        sum = S::fma(S::to_f(dot), S::splat(S::half(block.d) * scale), sum);
        return S::fma(S::to_f(offset), S::splat(-S::half(block.dmin) * scale), sum);
    }
};

template <class S>
struct GroupsQ4_K : ScaleAndMinimum<S, BlockQ4_K> {
    template <int J>
    static auto quants(const BlockQ4_K& block) {
        return S::template bits<J % 2 * 4, 15>(S::load_i8(block.quants + J / 2 * 32));
    }
};

template <class S>
struct GroupsQ5_K : ScaleAndMinimum<S, BlockQ5_K> {
    template <int J>
    static auto quants(const BlockQ5_K& block) {
        const auto low = S::template bits<J % 2 * 4, 15>(S::load_i8(block.quants + J / 2 * 32));
        return S::or_i8(low, S::template bits<J - 4, 16>(S::load_i8(block.high_bits)));
    }
};

// x = d * scale * (q - 32): the 32 is taken off with the sums of the activations.
template <class S>
struct GroupsQ6_K {
    using Block = BlockQ6_K;
    static constexpr bool kWideGroups = false;
    static auto scales(const Block& block) { return S::widen_i8(block.scales); }
    static auto offsets(const Block& block) { return S::widen_i8(block.scales); }
    template <int J>
    static auto quants(const Block& block) {
        constexpr int kHalf = J / 4, kPart = J % 4;
        const auto low = S::template bits<kPart / 2 * 4, 15>(
            S::load_i8(block.quants + 64 * kHalf + 32 * (kPart & 1)));
        const auto high = S::load_i8(block.high_bits + 32 * kHalf);
        return S::or_i8(low, S::template bits<2 * kPart - 4, 0x30>(high));
    }
    static auto finish(const Block& block, typename S::I32 dot, typename S::I32 offset, float scale,
                       typename S::F sum) {
        const auto total = S::sub_i32(dot, S::template shift_left_i32<5>(offset));
        return S::fma(S::to_f(total), S::splat(S::half(block.d) * scale), sum);
    }
};

template <class S, class G>
struct SuperTile {
    // The integer sums of a block take registers beside the float sums, hence one row.
    static constexpr int kRows = 1, kTokens = 4;

    template <int R, int T>
    static void run(const MatRows& a, size_t row, size_t token) {
        using Block = typename G::Block;
        const auto n_blocks = a.in_dim / 256;
        const Block* w[R];
        const std::byte* x[T];  // quants, then scales, then sums of 16
        typename S::F sum[R][T];
        for (int r = 0; r < R; ++r) w[r] = reinterpret_cast<const Block*>(weight_row(a, row + r));
        for (int t = 0; t < T; ++t) x[t] = act_row(a, token + t);
        for (auto& of_row : sum)
            for (auto& s : of_row) s = S::zero();

        for (size_t b = 0; b < n_blocks; ++b) {
            for (int r = 0; r < R; ++r) {
                const auto& block = w[r][b];
                int16_t scale[16];
                S::store_i16(scale, G::scales(block));
                typename S::I32 dot[T];
                for (auto& d : dot) d = S::zero_i32();
                const auto group = [&]<int J>() __attribute__((always_inline)) {
                    const auto q = G::template quants<J>(block);
                    for (int t = 0; t < T; ++t) {
                        const auto y = S::load_i8(x[t] + b * 256 + J * 32);
                        if constexpr (G::kWideGroups)
                            dot[t] = S::mad_u8(dot[t], q, y, scale[2 * J]);
                        else
                            dot[t] = S::mad_u8(dot[t], q, y, scale[2 * J], scale[2 * J + 1]);
                    }
                };
                [&]<int... J>(std::integer_sequence<int, J...>) __attribute__((always_inline)) {
                    (group.template operator()<J>(), ...);
                }(std::make_integer_sequence<int, 8>());
                const auto offsets = G::offsets(block);
                for (int t = 0; t < T; ++t) {
                    const auto* const scales = x[t] + a.in_dim;
                    const auto* const sums = scales + n_blocks * 4 + b * 32;
                    const auto offset =
                        S::dot_i16(offsets, S::load_i16(reinterpret_cast<const int16_t*>(sums)));
                    sum[r][t] = G::finish(block, dot[t], offset,
                                          reinterpret_cast<const float*>(scales)[b], sum[r][t]);
                }
            }
        }
        for (int r = 0; r < R; ++r)
            for (int t = 0; t < T; ++t) store_result(a, row + r, token + t, S::sum(sum[r][t]));
    }
};

}  // namespace minfer::cpu
