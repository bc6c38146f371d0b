#pragma once
// Walks the plane of output rows and tokens in register tiles. A tile only shares loads between
// its elements; the sum of one element is the same in every tile size.

#include <cstddef>

#include "backend/cpu/kernels/kernels.h"

namespace minfer::cpu {
namespace {  // compiled per instruction set: must not be shared between their object files

inline const std::byte* weight_row(const MatRows& a, size_t row) {
    return a.weight + (row - a.row_begin) * a.weight_stride;
}
inline const std::byte* act_row(const MatRows& a, size_t token) { return a.x + token * a.x_stride; }
inline void store_result(const MatRows& a, size_t row, size_t token, float sum) {
    a.out[token * a.out_stride + row] = a.bias ? sum + a.bias[row] : sum;
}

}  // namespace

// kRows x kTokens for many tokens; kRows x 1 when few are left, as in decoding.
template <class Tile>
struct Walk {
    template <int R>
    static void rows(const MatRows& a, size_t row) {
        constexpr int kTokens = Tile::kTokens;
        size_t token = 0;
        for (; token + kTokens <= a.n_tokens; token += kTokens)
            Tile::template run<R, kTokens>(a, row, token);
        for (; token < a.n_tokens; ++token) Tile::template run<R, 1>(a, row, token);
    }
    static void run(const MatRows& a) {
        size_t row = a.row_begin;
        for (; row + Tile::kRows <= a.row_end; row += Tile::kRows) rows<Tile::kRows>(a, row);
        for (; row < a.row_end; ++row) rows<1>(a, row);
    }
};

}  // namespace minfer::cpu
