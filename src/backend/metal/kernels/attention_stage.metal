// Packed cells as f32, row i being cell i: kernels over f32 cells then run as they are, with the
// windows they are given. Half would round each element a second time.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention_stage.h"
#include "cells.h"
using namespace metal;

template <typename Cell>
kernel void kv_dequantize(device const uchar* k [[buffer(0)]],
                          device const uchar* v [[buffer(1)]],
                          device float* out [[buffer(2)]],  // [2][n_ctx][cell_width]
                          constant AttentionStageArgs& args [[buffer(3)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint3 threads [[threads_per_threadgroup]],
                          uint thread_index [[thread_index_in_threadgroup]]) {
    const uint element = (group.y * threads.x + thread_index) * 4;
    const uint cell = args.first_cell + group.x;
    if (element >= args.cell_width) return;
    const Cells<Cell> cells = {group.z == 0 ? k : v, args.cell_bytes, args.cell_width};
    const ulong row = ulong(group.z) * args.n_ctx + cell;
    store4(out + row * args.cell_width + element, cells.load(cell, element));
}

template [[host_name("kv_dequantize_q8_0")]] kernel void kv_dequantize<Q8_0Cell>(device const uchar*, device const uchar*, device float*, constant AttentionStageArgs&, uint3, uint3, uint);
template [[host_name("kv_dequantize_q8_0_split")]] kernel void kv_dequantize<Q8_0SplitCell>(device const uchar*, device const uchar*, device float*, constant AttentionStageArgs&, uint3, uint3, uint);
