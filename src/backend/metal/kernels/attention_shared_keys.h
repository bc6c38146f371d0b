#pragma once
// Attention of one query over rows of its window, in tiles of 32 keys that the SIMD groups of a
// threadgroup share: a lane scores one key, then owns four dimensions of the output for every key.
// Tiles count rows of the window, not cells: what a token gets depends on the cells it sees and on
// nothing else.

#include <metal_stdlib>
#include "attention.h"
#include "cells.h"
using namespace metal;

// Threadgroup memory of the tiles.
struct SharedKeys {
    threadgroup float* keys;  // [kTileKeys][kTileStride]
    threadgroup uint* cells;
    threadgroup float* weights;  // of this SIMD group

    SharedKeys(threadgroup float* shared, uint simdgroup)
        : keys(shared),
          cells(reinterpret_cast<threadgroup uint*>(keys + kTileKeys * kTileStride)),
          weights(keys + kTileKeys * kTileStride + kTileKeys + simdgroup * kTileKeys) {}
};

// The running softmax of one query.
template <uint kVectors>
struct AttentionSums {
    float largest = -FLT_MAX / 2, total = 0;
    float4 sums[kVectors] = {};  // of dimensions (lane + i * 32) * 4
};

// Rows [first_row, end_row). Cell: how cells lie in memory. Rows: which cell a row is. kVectors:
// vectors of four dimensions that a lane owns; head_dim <= 128 * kVectors. All SIMD groups of a
// threadgroup have to come with the same rows.
template <uint kVectors, typename Cell, typename Rows>
static AttentionSums<kVectors> attend(device const float* q_head, Cells<Cell> key_cells,
                                      Cells<Cell> value_cells, uint head_element, uint head_dim,
                                      float scale, thread const Rows& rows, uint first_row,
                                      uint end_row, SharedKeys shared, uint lane, uint simdgroup,
                                      uint simdgroups) {
    threadgroup float* keys = shared.keys;
    threadgroup uint* cells = shared.cells;
    threadgroup float* weights = shared.weights;
    AttentionSums<kVectors> result;
    for (uint first = first_row; first < end_row; first += kTileKeys) {
        const uint n_keys = min(uint(kTileKeys), end_row - first);
        float4 dots = 0;
        for (uint first_dim = 0; first_dim < head_dim; first_dim += kTileDims) {
            const uint dims = min(uint(kTileDims), head_dim - first_dim);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            // Half a SIMD group a key. Rows past the last are the last once more.
            const uint dim = lane % 16 * 4;
            for (uint key = simdgroup * 2 + lane / 16; key < kTileKeys; key += simdgroups * 2) {
                const uint cell = rows.cell(min(first + key, end_row - 1));
                if (lane % 16 == 0) cells[key] = cell;
                if (dim >= dims) continue;
                *reinterpret_cast<threadgroup float4*>(keys + key * kTileStride + dim) =
                    key_cells.load(cell, head_element + first_dim + dim);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            device const float* q_dims = q_head + first_dim;
            threadgroup const float* key_dims = keys + lane * kTileStride;
#pragma unroll 4
            for (uint d = 0; d < dims; d += 4)
                dots = fma(load4(q_dims + d),
                           *reinterpret_cast<threadgroup const float4*>(key_dims + d), dots);
        }

        const bool visible = lane < n_keys;
        const float score = sum4(dots) * scale;
        const float new_largest = max(result.largest, simd_max(visible ? score : -FLT_MAX / 2));
        const float weight = visible ? precise::exp(score - new_largest) : 0;
        const float correction = precise::exp(result.largest - new_largest);
        result.total = result.total * correction + simd_sum(weight);
        result.largest = new_largest;
        weights[lane] = weight;
        simdgroup_barrier(mem_flags::mem_threadgroup);

#pragma unroll
        for (uint i = 0; i < kVectors; ++i) result.sums[i] *= correction;
#pragma unroll 4
        for (uint key = 0; key < n_keys; ++key) {
            const uint cell = cells[key];
#pragma unroll
            for (uint i = 0; i < kVectors; ++i) {
                const uint dim = (lane + i * 32) * 4;
                if (dim < head_dim)
                    result.sums[i] =
                        fma(float4(weights[key]), value_cells.load(cell, head_element + dim),
                            result.sums[i]);
            }
        }
    }
    return result;
}
