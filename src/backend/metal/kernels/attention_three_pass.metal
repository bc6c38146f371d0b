// Causal attention of several tokens over f32 cells in three passes: scores, softmax, output. What
// flash attention does in one walk is written out in between, so each pass is plain and takes no
// barrier. A SIMD group is one row: a query head of one token.
//
// A row ends with the token's own cell. What lies past it is neither written nor read.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention_three_pass.h"
#include "packed.h"
using namespace metal;

struct ThreePassRow {
    uint row;     // in the slab
    uint global;  // in q
    uint kv_head;
    uint n_keys;  // that the token sees

    ThreePassRow(uint group, uint simdgroup, device const int* positions,
                 constant ThreePassArgs& args) {
        row = group * kThreePassSimdGroups + simdgroup;
        // A SIMD group past the last row takes that one and keeps what it finds to itself.
        global = args.first_row + min(row, args.n_rows - 1);
        kv_head = global % args.n_head / args.group;
        n_keys = uint(positions[global / args.n_head]) + 1;
    }
    bool is_valid(constant ThreePassArgs& args) const { return row < args.n_rows; }
};

// kLanes: lanes that hold one cell's head, four elements each; two cells at a time when 16.
template <uint kLanes>
kernel void attention_scores(device const float* q [[buffer(0)]],
                             device const uchar* k [[buffer(1)]],
                             device const int* positions [[buffer(2)]],
                             device float* scores [[buffer(3)]],
                             constant ThreePassArgs& args [[buffer(4)]],
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    constexpr uint kCells = 32 / kLanes;
    const ThreePassRow row(group, simdgroup, positions, args);
    const uint part = lane % kLanes;
    const ulong element = ulong(row.kv_head) * kLanes * 4 + part * 4;
    const float4 query = load4(q + ulong(row.global) * kLanes * 4 + part * 4);
    device float* out = scores + ulong(row.row) * args.n_keys;

    for (uint first = 0; first < row.n_keys; first += 32) {
        float mine = 0;  // of cell first + part * kCells + lane / kLanes
#pragma unroll 4
        for (uint step = 0; step < kLanes; ++step) {
            const uint cell = min(first + step * kCells + lane / kLanes, row.n_keys - 1);
            device const float* key =
                reinterpret_cast<device const float*>(k + ulong(cell) * args.cell_bytes) + element;
            float sum = sum4(query * load4(key));
#pragma unroll
            for (ushort distance = kLanes / 2; distance > 0; distance /= 2)
                sum += simd_shuffle_xor(sum, distance);
            if (part == step) mine = sum;
        }
        const uint cell = first + part * kCells + lane / kLanes;
        if (cell < row.n_keys && row.is_valid(args)) out[cell] = mine * args.scale;
    }
}

template [[host_name("attention_scores_64")]] kernel void attention_scores<16>(device const float*, device const uchar*, device const int*, device float*, constant ThreePassArgs&, uint, uint, uint);
template [[host_name("attention_scores_128")]] kernel void attention_scores<32>(device const float*, device const uchar*, device const int*, device float*, constant ThreePassArgs&, uint, uint, uint);

// Scores to weights that sum to one, in place. A score that is no number makes them all such.
kernel void attention_softmax(device const int* positions [[buffer(0)]],
                              device float* scores [[buffer(1)]],
                              constant ThreePassArgs& args [[buffer(2)]],
                              uint group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    const ThreePassRow row(group, simdgroup, positions, args);
    if (!row.is_valid(args)) return;
    device float* weights = scores + ulong(row.row) * args.n_keys;
    float largest = -FLT_MAX / 2;
    for (uint key = lane; key < row.n_keys; key += 32) largest = max(largest, weights[key]);
    largest = simd_max(largest);
    float total = 0;
    for (uint key = lane; key < row.n_keys; key += 32) {
        const float weight = precise::exp(weights[key] - largest);
        weights[key] = weight;
        total += weight;
    }
    total = simd_sum(total);
    for (uint key = lane; key < row.n_keys; key += 32) weights[key] /= total;
}

template <uint kLanes>
kernel void attention_output(device const float* weights [[buffer(0)]],
                             device const uchar* v [[buffer(1)]],
                             device const int* positions [[buffer(2)]],
                             device float* out [[buffer(3)]],
                             constant ThreePassArgs& args [[buffer(4)]],
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    constexpr uint kCells = 32 / kLanes;
    const ThreePassRow row(group, simdgroup, positions, args);
    if (!row.is_valid(args)) return;
    const uint part = lane % kLanes;
    const ulong element = ulong(row.kv_head) * kLanes * 4 + part * 4;
    device const float* row_weights = weights + ulong(row.row) * args.n_keys;

    float4 sum = 0;
#pragma unroll 4
    for (uint cell = lane / kLanes; cell < row.n_keys; cell += kCells) {
        device const float* value =
            reinterpret_cast<device const float*>(v + ulong(cell) * args.cell_bytes) + element;
        sum = fma(float4(row_weights[cell]), load4(value), sum);
    }
    if (kCells == 2) sum += simd_shuffle_xor(sum, ushort(16));
    if (lane < kLanes) store4(out + ulong(row.global) * kLanes * 4 + part * 4, sum);
}

template [[host_name("attention_output_64")]] kernel void attention_output<16>(device const float*, device const uchar*, device const int*, device float*, constant ThreePassArgs&, uint, uint, uint);
template [[host_name("attention_output_128")]] kernel void attention_output<32>(device const float*, device const uchar*, device const int*, device float*, constant ThreePassArgs&, uint, uint, uint);
