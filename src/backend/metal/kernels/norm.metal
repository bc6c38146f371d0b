// RMS norm of rows: x / sqrt(mean(x^2) + eps) * weight. In place as well: a thread reads again only
// what it writes.
//
// A row's squares are added in 256 sums of four, whatever the number of threads: sum i takes the
// vectors i, i + 256, ...; then each run of 32 sums is added across a SIMD group, then the 8 results
// are. So one SIMD group or eight give the same bits.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "norm.h"
#include "packed.h"
using namespace metal;

constant constexpr uint kNormSums = 256, kNormParts = kNormSums / 32;

// What one sum comes to, with the elements past the last vector in the first one.
static float norm_partial(float4 squares, bool first, device const float* x, uint width) {
    float sum = sum4(squares);
    if (first)
        for (uint i = width & ~3u; i < width; ++i) sum = fma(x[i], x[i], sum);
    return sum;
}

static float norm_factor(float sum, constant NormArgs& args) {
    return 1.0f / precise::sqrt(sum / float(args.width) + args.eps);
}

// Scales what thread `thread_index` of `threads` owns.
static void norm_scale(device const float* x,
                       device const float* weight,
                       device float* out,
                       float factor,
                       uint width,
                       uint thread_index,
                       uint threads) {
    const uint vectors = width / 4;
    for (uint i = thread_index; i < vectors; i += threads)
        store4(out + i * 4, load4(x + i * 4) * factor * load4(weight + i * 4));
    if (thread_index == 0)
        for (uint i = vectors * 4; i < width; ++i) out[i] = x[i] * factor * weight[i];
}

kernel void rms_norm_256(device const float* x_rows [[buffer(0)]],
                         device const float* weight [[buffer(1)]],
                         device float* out_rows [[buffer(2)]],
                         constant NormArgs& args [[buffer(3)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_position_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint part [[simdgroup_index_in_threadgroup]]) {
    device const float* x = x_rows + ulong(row) * args.width;
    device float* out = out_rows + ulong(row) * args.width;
    const uint vectors = args.width / 4;

    float4 squares = 0;
    for (uint i = thread_index; i < vectors; i += kNormSums) {
        const float4 v = load4(x + i * 4);
        squares = fma(v, v, squares);
    }
    const float sum = simd_sum(norm_partial(squares, thread_index == 0, x, args.width));

    // One slot for every lane that reads, those past the last SIMD group zero.
    threadgroup float parts[32];
    if (lane == 0) parts[part] = sum;
    if (part == 0 && lane >= kNormParts) parts[lane] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float factor = norm_factor(simd_sum(parts[lane]), args);
    norm_scale(x, weight, out, factor, args.width, thread_index, kNormSums);
}

// One SIMD group a row, any number of rows a threadgroup. kParts less than all where rows are so
// short that the sums left out are empty.
template <uint kParts>
kernel void rms_norm_simd(device const float* x_rows [[buffer(0)]],
                          device const float* weight [[buffer(1)]],
                          device float* out_rows [[buffer(2)]],
                          constant NormArgs& args [[buffer(3)]],
                          uint group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]],
                          uint simdgroups [[simdgroups_per_threadgroup]]) {
    const uint row = group * simdgroups + simdgroup;
    if (row >= args.rows) return;  // the whole SIMD group, and nobody waits for it
    device const float* x = x_rows + ulong(row) * args.width;
    device float* out = out_rows + ulong(row) * args.width;
    const uint vectors = args.width / 4;

    float4 squares[kParts] = {};
    for (uint first = lane; first < vectors; first += kNormSums) {
#pragma unroll
        for (uint part = 0; part < kParts; ++part) {
            const uint i = first + part * 32;
            if (i >= vectors) continue;
            const float4 v = load4(x + i * 4);
            squares[part] = fma(v, v, squares[part]);
        }
    }
    float mine = 0;
#pragma unroll
    for (uint part = 0; part < kParts; ++part) {
        const bool first = part == 0 && lane == 0;
        const float sum = simd_sum(norm_partial(squares[part], first, x, args.width));
        mine = lane == part ? sum : mine;
    }
    const float factor = norm_factor(simd_sum(mine), args);
    norm_scale(x, weight, out, factor, args.width, lane, 32);
}

template [[host_name("rms_norm_32")]] kernel void rms_norm_simd<kNormParts>(device const float*, device const float*, device float*, constant NormArgs&, uint, uint, uint, uint);
template [[host_name("rms_norm_heads")]] kernel void rms_norm_simd<1>(device const float*, device const float*, device float*, constant NormArgs&, uint, uint, uint, uint);
