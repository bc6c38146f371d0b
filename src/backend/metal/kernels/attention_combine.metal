// Puts together what kernels made of the chunks of one token's cells.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention_records.h"
#include "packed.h"
using namespace metal;

// A SIMD group to a query head. Chunks are added in their order; without any cell the output is
// zeros, and a score that is no number shows as one.
kernel void attention_combine(device const float* partials [[buffer(0)]],
                              device float* out [[buffer(1)]],
                              constant AttentionDecodeArgs& args [[buffer(2)]],
                              uint head [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float weights[kDecodeMaxChunks];

    float lane_largest = -FLT_MAX / 2;
    for (uint chunk = lane; chunk < args.n_chunks; chunk += 32)
        lane_largest = max(lane_largest, partials[attention_record(head, chunk, args)]);
    const float largest = simd_max(lane_largest);
    float total = 0;
    for (uint chunk = lane; chunk < args.n_chunks; chunk += 32) {
        device const float* record = partials + attention_record(head, chunk, args);
        const float weight = precise::exp(record[0] - largest);
        weights[chunk] = weight;
        total = fma(weight, record[1], total);
    }
    total = simd_sum(total);
    // The sum lets lanes meet but orders no memory, except in softmetal, which cannot show that this
    // is needed.
    simdgroup_barrier(mem_flags::mem_threadgroup);

    for (uint dim = lane * 4; dim < args.head_dim; dim += 32 * 4) {
        float4 sum = 0;
        for (uint chunk = 0; chunk < args.n_chunks; ++chunk)
            sum = fma(float4(weights[chunk]),
                      load4(partials + attention_record(head, chunk, args) + kDecodeRecordHead + dim),
                      sum);
        store4(out + ulong(head) * args.head_dim + dim,
               args.n_cells > 0 ? sum / total : float4(0));
    }
}
