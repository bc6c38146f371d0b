// Split attention of one token: the classic tiles, over one contiguous chunk of cells for each
// threadgroup of a KV head's query heads. attention_combine puts the chunks together.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention_records.h"
#include "attention_shared_keys.h"
using namespace metal;

struct LeadingCells {
    uint cell(uint row) const { return row; }
};

template <typename Cell>
[[max_total_threads_per_threadgroup(kAttentionMaxThreads)]]
kernel void attention_split(device const float* q [[buffer(0)]],
                            device const uchar* k [[buffer(1)]],
                            device const uchar* v [[buffer(2)]],
                            device float* partials [[buffer(3)]],
                            constant AttentionDecodeArgs& args [[buffer(4)]],
                            threadgroup float* shared [[threadgroup(0)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]],
                            uint simdgroups [[simdgroups_per_threadgroup]]) {
    const uint kv_head = group.y / args.parts, chunk = group.z;
    const uint head_in_group = group.y % args.parts * simdgroups + simdgroup;
    // As in classic attention: all have to meet at the barriers.
    const bool valid_head = head_in_group < args.group;
    const uint head = valid_head ? kv_head * args.group + head_in_group : 0;
    const Cells<Cell> key_cells = {k, args.cell_bytes, args.cell_width};
    const Cells<Cell> value_cells = {v, args.cell_bytes, args.cell_width};

    const uint chunk_cells = (args.n_cells + args.n_chunks - 1) / args.n_chunks;
    const uint first = min(chunk * chunk_cells, args.n_cells);
    const uint end = min(first + chunk_cells, args.n_cells);
    const LeadingCells rows;
    const AttentionSums<1> result =
        attend<1>(q + head * args.head_dim, key_cells, value_cells, kv_head * args.head_dim,
                  args.head_dim, args.scale, rows, first, end, SharedKeys(shared, simdgroup),
                  lane, simdgroup, simdgroups);

    if (!valid_head) return;
    device float* record = partials + attention_record(head, chunk, args);
    if (lane == 0) {
        record[0] = result.largest;
        record[1] = result.total;
    }
    if (lane * 4 < args.head_dim)
        store4(record + kDecodeRecordHead + lane * 4, result.sums[0]);
}

template [[host_name("attention_split_f32")]] kernel void attention_split<F32Cell>(device const float*, device const uchar*, device const uchar*, device float*, constant AttentionDecodeArgs&, threadgroup float*, uint3, uint, uint, uint);
template [[host_name("attention_split_f16")]] kernel void attention_split<F16Cell>(device const float*, device const uchar*, device const uchar*, device float*, constant AttentionDecodeArgs&, threadgroup float*, uint3, uint, uint, uint);
