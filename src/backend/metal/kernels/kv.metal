// Rows into cells of the KV cache. The host has checked the cells.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "cells.h"
#include "kv.h"
#include "packed.h"
using namespace metal;

// Row t, four elements to a thread, into cell cells[t].
template <typename Cell>
kernel void kv_store(device const float* rows [[buffer(0)]],
                     device const int* cells [[buffer(1)]],
                     device uchar* region [[buffer(2)]],
                     constant KvStoreArgs& args [[buffer(3)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint2 threads [[threads_per_threadgroup]],
                     uint thread_index [[thread_index_in_threadgroup]]) {
    const uint first = (group.y * threads.x + thread_index) * 4, token = group.x;
    device const float* from = rows + ulong(token) * args.width;
    device uchar* cell = region + ulong(cells[token]) * args.cell_bytes;
    if (first + 4 <= args.width) {
        Cell::store(cell, first, load4(from + first));
        return;
    }
    for (uint i = first; i < args.width; ++i) Cell::store(cell, i, from[i]);
}

// The same to blocks of 32, an element to a lane and a block to a SIMD group: the bytes of
// quantize_kv_block() (tensor/quantize_kv.h), which says what becomes of values that are too large,
// too small or no numbers.
template <typename Cell>
kernel void kv_store_blocks(device const float* rows [[buffer(0)]],
                            device const int* cells [[buffer(1)]],
                            device uchar* region [[buffer(2)]],
                            constant KvStoreArgs& args [[buffer(3)]],
                            uint2 group [[threadgroup_position_in_grid]],
                            uint2 threads [[threads_per_threadgroup]],
                            uint thread_index [[thread_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]]) {
    const uint element = group.y * threads.x + thread_index, token = group.x;
    // Whole SIMD groups leave: width is a multiple of 32.
    if (element >= args.width) return;
    device uchar* cell = region + ulong(cells[token]) * args.cell_bytes;
    const float value = rows[ulong(token) * args.width + element];

    // The bits of magnitudes are in their order, infinity and NaN above all others.
    const uint peak = simd_max(as_type<uint>(value) & 0x7fffffffu);
    const bool is_finite = peak < 0x7f800000u;
    const float scale = as_type<float>(peak) / 127.0f;
    const ushort stored_scale = is_finite ? as_type<ushort>(half(scale)) : ushort(0x7e00);
    const bool has_quants = is_finite && stored_scale != 0;
    *Cell::quant(cell, element) = has_quants ? char(rint(value * (1.0f / scale))) : char(0);
    if (lane != 0) return;
    const uint block = element / 32, n_blocks = args.width / 32;
    *Cell::scale(cell, block, args.width) = stored_scale;
    // Cells are whole words: what lies behind the last block is part of a saved session.
    if (block + 1 == n_blocks)
        for (uint i = n_blocks * 34; i < args.cell_bytes; ++i) cell[i] = 0;
}

template [[host_name("kv_store_f32")]] kernel void kv_store<F32Cell>(device const float*, device const int*, device uchar*, constant KvStoreArgs&, uint2, uint2, uint);
template [[host_name("kv_store_f16")]] kernel void kv_store<F16Cell>(device const float*, device const int*, device uchar*, constant KvStoreArgs&, uint2, uint2, uint);
template [[host_name("kv_store_q8_0")]] kernel void kv_store_blocks<Q8_0Cell>(device const float*, device const int*, device uchar*, constant KvStoreArgs&, uint2, uint2, uint, uint);
template [[host_name("kv_store_q8_0_split")]] kernel void kv_store_blocks<Q8_0SplitCell>(device const float*, device const int*, device uchar*, constant KvStoreArgs&, uint2, uint2, uint, uint);
