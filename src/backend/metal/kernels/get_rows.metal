// Rows by number: embeddings out of a table of weights of any type, and f32 rows as they are. The
// host has checked the numbers; that they are held to the table once more keeps a faulty one from
// reading other memory.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "dequantize.h"
#include "get_rows.h"
#include "packed.h"
using namespace metal;

template <typename Type>
kernel void get_rows(device const uchar* table [[buffer(0)]],
                     device const int* ids [[buffer(1)]],
                     device float* out [[buffer(2)]],
                     constant GetRowsArgs& args [[buffer(3)]],
                     uint thread_index [[thread_position_in_grid]]) {
    const uint row = thread_index / args.pieces, first = thread_index % args.pieces * 16;
    if (row >= args.n_out) return;
    const uint id = min(uint(ids[row]), args.n_rows - 1);
    device const uchar* const block = table + ulong(id) * args.row_bytes +
                                      first / Type::kBlockValues * Type::kBlockBytes;
    device float* const to = out + ulong(row) * args.width + first;
    if constexpr (dequant::has_any_width<Type>()) {
        if (first + 16 > args.width) {
            for (uint i = 0; first + i < args.width; ++i) to[i] = Type::one(block, i);
            return;
        }
    }
    const dequant::Weights16 weights = Type::load(block, first % Type::kBlockValues / 16);
#pragma unroll
    for (uint i = 0; i < 4; ++i) store4(to + 4 * i, weights.part[i]);
}

kernel void gather_rows_f32(device const float* x [[buffer(0)]],
                            device const int* ids [[buffer(1)]],
                            device float* out [[buffer(2)]],
                            constant GetRowsArgs& args [[buffer(3)]],
                            uint thread_index [[thread_position_in_grid]]) {
    const uint row = thread_index / args.pieces, first = thread_index % args.pieces * 4;
    if (row >= args.n_out) return;
    const uint id = min(uint(ids[row]), args.n_rows - 1);
    device const float* const from = x + ulong(id) * args.width + first;
    device float* const to = out + ulong(row) * args.width + first;
    if (first + 4 <= args.width) {
        store4(to, load4(from));
        return;
    }
    for (uint i = 0; first + i < args.width; ++i) to[i] = from[i];
}

#define MINFER_GET_ROWS(host, Type)                                                           \
    template [[host_name("get_rows_" #host)]] kernel void get_rows<dequant::Type>(            \
        device const uchar*, device const int*, device float*, constant GetRowsArgs&, uint);

MINFER_GET_ROWS(q4_0, Q4_0)
MINFER_GET_ROWS(q4_1, Q4_1)
MINFER_GET_ROWS(q5_0, Q5_0)
MINFER_GET_ROWS(q5_1, Q5_1)
MINFER_GET_ROWS(q8_0, Q8_0)
MINFER_GET_ROWS(q4_k, Q4_K)
MINFER_GET_ROWS(q5_k, Q5_K)
MINFER_GET_ROWS(q6_k, Q6_K)
MINFER_GET_ROWS(f16, F16)
MINFER_GET_ROWS(bf16, BF16)
MINFER_GET_ROWS(f32, F32)
