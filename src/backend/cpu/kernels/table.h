#pragma once
// The whole table for one vector type; included by one .cpp per instruction set.

#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/kernels/elementwise.h"
#include "backend/cpu/kernels/matrix_blocks.h"
#include "backend/cpu/kernels/matrix_float.h"
#include "backend/cpu/kernels/matrix_super.h"
#include "backend/cpu/kernels/quantize.h"
#include "backend/cpu/kernels/rows.h"

namespace minfer::cpu {

template <class S>
struct Table {
    template <class Tile>
    static constexpr auto matrix = Walk<Tile>::run;

    static constexpr MatKernel kMatrices[] = {
        {DType::F32, ActFormat::F32, matrix<FloatTile<S, LoadF32<S>>>},
        {DType::F16, ActFormat::F32, matrix<FloatTile<S, LoadF16<S>>>},
        {DType::BF16, ActFormat::F32, matrix<FloatTile<S, LoadBF16<S>>>},
        {DType::Q4_0, ActFormat::Q8, matrix<BlockTile<S, QuantsQ4_0<S>>>},
        {DType::Q4_1, ActFormat::Q8, matrix<BlockTile<S, QuantsQ4_1<S>>>},
        {DType::Q5_0, ActFormat::Q8, matrix<BlockTile<S, QuantsQ5_0<S>>>},
        {DType::Q5_1, ActFormat::Q8, matrix<BlockTile<S, QuantsQ5_1<S>>>},
        {DType::Q8_0, ActFormat::Q8, matrix<BlockTile<S, QuantsQ8_0<S>>>},
        {DType::Q4_K, ActFormat::Q8K, matrix<SuperTile<S, GroupsQ4_K<S>>>},
        {DType::Q5_K, ActFormat::Q8K, matrix<SuperTile<S, GroupsQ5_K<S>>>},
        {DType::Q6_K, ActFormat::Q8K, matrix<SuperTile<S, GroupsQ6_K<S>>>},
    };

    static constexpr Kernels make(const char* name) {
        return {
            .name = name,
            .add = Elementwise<S>::add,
            .mul = Elementwise<S>::mul,
            .scale = Elementwise<S>::scale,
            .silu = Elementwise<S>::silu,
            .swiglu = Elementwise<S>::swiglu,
            .softmax = Rows<S>::softmax,
            .rms_norm = Rows<S>::rms_norm,
            .rope = Rows<S>::rope,
            .attention_f32 = Attention<S, FloatHead<S, CellsF32<S>>>::run,
            .attention_f16 = Attention<S, FloatHead<S, CellsF16<S>>>::run,
            .attention_q8_0 = Attention<S, FloatHead<S, CellsQ8_0<S>>>::run,
            .attention_q8 = Attention<S, BlockHead<S>>::run,
            .to_f16 = Elementwise<S>::to_f16,
            .quantize_q8 = Quantize<S>::q8,
            .quantize_q8k = Quantize<S>::q8k,
            .matrices = kMatrices,
            .n_matrices = sizeof kMatrices / sizeof kMatrices[0],
        };
    }
};

}  // namespace minfer::cpu
