#pragma once
// Elements of a cell as floats, for each format: `element` counts from the start of the cell.

#include <cstddef>
#include <cstdint>

#include "tensor/blocks.h"

namespace minfer::cpu {

template <class S>
struct CellsF32 {
    static typename S::F load(const std::byte* cell, size_t element) {
        return S::load(reinterpret_cast<const float*>(cell) + element);
    }
    static typename S::F load_part(const std::byte* cell, size_t element, size_t n) {
        return S::load_part(reinterpret_cast<const float*>(cell) + element, n);
    }
};

template <class S>
struct CellsF16 {
    static typename S::F load(const std::byte* cell, size_t element) {
        return S::load_f16(cell + element * 2);
    }
    static typename S::F load_part(const std::byte* cell, size_t element, size_t n) {
        return S::load_f16_part(cell + element * 2, n);
    }
};

// A product of the scale and a quant is exact. Eight elements may lie in two blocks: a head need
// not begin with a block.
template <class S>
struct CellsQ8_0 {
    static const BlockQ8_0& block(const std::byte* cell, size_t element) {
        return reinterpret_cast<const BlockQ8_0*>(cell)[element / kBlockValues];
    }
    static typename S::F load(const std::byte* cell, size_t element) {
        const auto at = element % kBlockValues;
        if (at + S::kWidth > kBlockValues) return load_part(cell, element, S::kWidth);
        const auto& source = block(cell, element);
        return S::mul(S::widen_quants(source.quants + at), S::splat(S::half(source.d)));
    }
    static typename S::F load_part(const std::byte* cell, size_t element, size_t n) {
        int8_t quants[S::kWidth] = {};
        float scales[S::kWidth] = {};
        for (size_t i = 0; i < n; ++i) {
            const auto& source = block(cell, element + i);
            quants[i] = source.quants[(element + i) % kBlockValues];
            scales[i] = S::half(source.d);
        }
        return S::mul(S::widen_quants(quants), S::load(scales));
    }
};

}  // namespace minfer::cpu
