// Attention of several tokens, in tiles: 8 queries of one head by blocks of 64 cells.
//
// A threadgroup is a tile of queries, its four SIMD groups share every block of cells: each scores
// two columns of 8 cells, then weighs the cells for two of the queries, then adds up a quarter of
// the head's dimensions. K and V are read as matrices where they lie, the cells of a partial last
// block from a copy with zeros behind them: a matrix load cannot be masked. Queries, scores,
// weights and sums are f32 whatever the cells are.
//
// What a query does not see has a weight of zero, and zero times infinity is NaN: of V, eight cells
// that no query sees are left out, and eight that some see and some do not (at the diagonal, at the
// ends of windows) go through a copy without what is not finite, which those who see it then get.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "attention_prefill.h"
#include "packed.h"
using namespace metal;

// What one query sees. load() takes a token's; run() is one of at most four runs of cells as
// [first, end). Without a token there is nothing to see.
struct CausalWindow {
    int end = 0;
    static CausalWindow load(device const int* data, uint token, uint) {
        CausalWindow window;
        window.end = data[token] + 1;
        return window;
    }
    static int2 run(device const int* data, uint token, uint, uint index) {
        return int2(0, index == 0 ? data[token] + 1 : 0);
    }
    bool sees(int cell) const { return cell < end; }
    bool is_empty() const { return end == 0; }
};

struct SpanWindow {
    int2 cells = 0;
    static SpanWindow load(device const int* data, uint token, uint n_tokens) {
        SpanWindow window;
        window.cells = run(data, token, n_tokens, 0);
        return window;
    }
    static int2 run(device const int* data, uint token, uint n_tokens, uint index) {
        return index == 0 ? int2(data[token], data[n_tokens + token]) : int2(0);
    }
    bool sees(int cell) const { return cell >= cells.x && cell < cells.y; }
    bool is_empty() const { return cells.x >= cells.y; }
};

struct MapWindow {
    int4 firsts = 0, ends = 0;
    static MapWindow load(device const int* data, uint token, uint) {
        device const int* const runs = data + ulong(token) * 8;
        MapWindow window;
        window.firsts = int4(runs[0], runs[2], runs[4], runs[6]);
        window.ends = window.firsts + int4(runs[1], runs[3], runs[5], runs[7]);
        return window;
    }
    static int2 run(device const int* data, uint token, uint, uint index) {
        device const int* const from = data + ulong(token) * 8 + index * 2;
        return int2(from[0], from[0] + from[1]);
    }
    bool sees(int cell) const { return any(cell >= firsts && cell < ends); }
    bool is_empty() const { return !any(firsts < ends); }
};

// A bit for each of the 64 cells of a block.
static uint eight_bits(uint2 bits, uint first) {
    return (first < 32 ? bits.x : bits.y) >> first % 32 & 0xff;
}
static uint ballot(bool vote) { return uint(simd_vote::vote_t(simd_ballot(vote))); }

// Eight cells by eight dimensions of V with zeros for what is not finite, to `piece`. Returns
// whether there was any such. `values` is the first of them.
template <typename Cell>
static bool copy_finite(device const Cell* values, uint width, threadgroup Cell* piece, uint lane) {
    device const Cell* const from = values + ulong(lane / 4) * width + lane % 4 * 2;
    const Cell first = from[0], second = from[1];
    const bool keeps_first = isfinite(first), keeps_second = isfinite(second);
    simdgroup_barrier(mem_flags::mem_threadgroup);  // the last piece has been read
    piece[lane * 2] = keeps_first ? first : Cell(0);
    piece[lane * 2 + 1] = keeps_second ? second : Cell(0);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    return simd_any(!keeps_first || !keeps_second);
}

// Adds what copy_finite() left out to the sums of the queries that see it: [8][kDim] from `sums`
// on, `weights` and the bits of `seen` being those of the eight cells.
template <typename Cell, uint kDim>
static void add_infinite(device const Cell* values, uint width, threadgroup const float* weights,
                         uint seen, threadgroup float* sums, uint lane) {
    const uint query = lane / 4;
    for (uint dim = lane % 4 * 2; dim < lane % 4 * 2 + 2; ++dim)
        for (uint cell = 0; cell < 8; ++cell) {
            const float value = values[ulong(cell) * width + dim];
            if ((seen >> cell & 1) != 0 && !isfinite(value))
                sums[query * kDim + dim] += weights[query * kPrefillCells + cell] * value;
        }
}

// Cell: float or half.
template <typename Cell, uint kDim, typename Window>
[[max_total_threads_per_threadgroup(kPrefillThreads)]]
kernel void attention_prefill(device const float* q [[buffer(0)]],
                              device const Cell* k [[buffer(1)]],
                              device const Cell* v [[buffer(2)]],
                              device const Cell* tail [[buffer(3)]],  // [2][kPrefillCells][width]
                              device const int* windows [[buffer(4)]],
                              device float* out [[buffer(5)]],
                              constant AttentionPrefillArgs& args [[buffer(6)]],
                              threadgroup float* shared [[threadgroup(0)]],
                              uint2 group [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    constexpr uint kQueries = kPrefillQueries, kCells = kPrefillCells;
    constexpr uint kRows = kQueries / 4;  // queries that a SIMD group weighs cells for
    constexpr uint kColumns = kDim / 8, kShare = (kColumns + 3) / 4;  // of the output, in matrices
    threadgroup float* const queries = shared;                       // [kQueries][kDim]
    threadgroup float* const sums = queries + kQueries * kDim;       // [kQueries][kDim]
    threadgroup float* const scores = sums + kQueries * kDim;        // [kQueries][kCells]
    threadgroup uint2* const seen =                                  // [kQueries], a bit for a cell
        reinterpret_cast<threadgroup uint2*>(scores + kQueries * kCells);
    threadgroup Cell* const piece = reinterpret_cast<threadgroup Cell*>(seen + kQueries) +
                                    simdgroup * 64;                  // [8][8], of this SIMD group
    const uint first_token = group.x * kQueries, head = group.y, width = args.cell_width;
    const uint head_element = head / args.group * kDim;

    for (uint i = thread_index; i < kQueries * kDim / 4; i += kPrefillThreads) {
        const uint token = first_token + i / (kDim / 4), dim = i % (kDim / 4) * 4;
        float4 four = 0.0f;
        if (token < args.n_tokens) four = load4(q + (ulong(token) * args.n_head + head) * kDim + dim);
        reinterpret_cast<threadgroup float4*>(queries)[i] = four;
        reinterpret_cast<threadgroup float4*>(sums)[i] = 0.0f;
    }

    Window window[kRows];
    float largest[kRows], total[kRows];
#pragma unroll
    for (uint r = 0; r < kRows; ++r) {
        const uint token = first_token + simdgroup * kRows + r;
        if (token < args.n_tokens) window[r] = Window::load(windows, token, args.n_tokens);
        largest[r] = -FLT_MAX / 2;
        total[r] = 0;
    }

    // A run of cells for each lane, the same in every SIMD group: the blocks they lie in are those
    // that anything of the tile sees.
    int2 run = 0;
    const uint run_token = first_token + lane / 4;
    if (run_token < args.n_tokens) run = Window::run(windows, run_token, args.n_tokens, lane % 4);
    if (!args.only_seen) run = int2(args.first_cell, args.end_cell);
    const bool has_run = run.x < run.y;
    const uint first_seen = simd_min(has_run ? uint(run.x) : args.end_cell);
    const uint end_seen = simd_max(has_run ? uint(run.y) : args.first_cell);

    uint first = args.first_cell + (first_seen - args.first_cell) / kCells * kCells;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (; first < end_seen; first += kCells) {
        if (!simd_any(has_run && run.x < int(first + kCells) && run.y > int(first))) continue;
        const bool whole = first + kCells <= args.end_cell;
        device const Cell* const keys = (whole ? k + ulong(first) * width : tail) + head_element;
        device const Cell* const values =
            (whole ? v + ulong(first) * width : tail + ulong(kCells) * width) + head_element;

        simdgroup_matrix<float, 8, 8> dots[2];
#pragma unroll
        for (uint j = 0; j < 2; ++j) dots[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
#pragma unroll 4
        for (uint dim = 0; dim < kDim; dim += 8) {
            simdgroup_matrix<float, 8, 8> a;
            simdgroup_load(a, queries + dim, kDim);
#pragma unroll
            for (uint j = 0; j < 2; ++j) {
                simdgroup_matrix<Cell, 8, 8> b;
                simdgroup_load(b, keys + ulong(simdgroup * 8 + j * 32) * width + dim, width, 0, true);
                simdgroup_multiply_accumulate(dots[j], a, b, dots[j]);
            }
        }
#pragma unroll
        for (uint j = 0; j < 2; ++j)
            simdgroup_store(dots[j], scores + simdgroup * 8 + j * 32, kCells);
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all scores are there

#pragma unroll
        for (uint r = 0; r < kRows; ++r) {
            const uint row = simdgroup * kRows + r;
            threadgroup float* const weights = scores + row * kCells + lane;
            const bool sees0 = window[r].sees(int(first + lane));
            const bool sees1 = window[r].sees(int(first + lane + 32));
            const float score0 = weights[0] * args.scale, score1 = weights[32] * args.scale;
            const float most = simd_max(max(sees0 ? score0 : -FLT_MAX / 2,
                                            sees1 ? score1 : -FLT_MAX / 2));
            const float new_largest = max(largest[r], most);
            const float correction = precise::exp(largest[r] - new_largest);
            const float weight0 = sees0 ? precise::exp(score0 - new_largest) : 0;
            const float weight1 = sees1 ? precise::exp(score1 - new_largest) : 0;
            total[r] = total[r] * correction + simd_sum(weight0 + weight1);
            largest[r] = new_largest;
            weights[0] = weight0;
            weights[32] = weight1;
            const uint2 bits = {ballot(sees0), ballot(sees1)};
            if (lane == 0) seen[row] = bits;
            if (correction == 1) continue;
            for (uint dim = lane; dim < kDim; dim += 32) sums[row * kDim + dim] *= correction;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all weights are there

        simdgroup_matrix<float, 8, 8> columns[kShare];
#pragma unroll
        for (uint i = 0; i < kShare; ++i) {
            const uint column = simdgroup + i * 4;
            if (column < kColumns) simdgroup_load(columns[i], sums + column * 8, kDim);
        }
        const uint2 own = seen[lane % kQueries];
        const bool is_there = first_token + lane % kQueries < args.n_tokens;
        const uint2 by_any = simd_or(own), by_all = simd_and(is_there ? own : uint2(~0u));
#pragma unroll 2
        for (uint cell = 0; cell < kCells; cell += 8) {
            if (eight_bits(by_any, cell) == 0) continue;
            const bool by_some = eight_bits(by_all, cell) != 0xff;
            simdgroup_matrix<float, 8, 8> a;
            simdgroup_load(a, scores + cell, kCells);
#pragma unroll
            for (uint i = 0; i < kShare; ++i) {
                const uint column = simdgroup + i * 4;
                if (column >= kColumns) continue;
                device const Cell* const eight = values + ulong(cell) * width + column * 8;
                simdgroup_matrix<Cell, 8, 8> b;
                if (!by_some) {
                    simdgroup_load(b, eight, width);
                    simdgroup_multiply_accumulate(columns[i], a, b, columns[i]);
                    continue;
                }
                const bool left_out = copy_finite(eight, width, piece, lane);
                simdgroup_load(b, piece, 8);
                simdgroup_multiply_accumulate(columns[i], a, b, columns[i]);
                if (!left_out) continue;
                simdgroup_store(columns[i], sums + column * 8, kDim);
                simdgroup_barrier(mem_flags::mem_threadgroup);
                add_infinite<Cell, kDim>(eight, width, scores + cell,
                                         eight_bits(seen[lane / 4], cell), sums + column * 8, lane);
                simdgroup_barrier(mem_flags::mem_threadgroup);
                simdgroup_load(columns[i], sums + column * 8, kDim);
            }
        }
#pragma unroll
        for (uint i = 0; i < kShare; ++i) {
            const uint column = simdgroup + i * 4;
            if (column < kColumns) simdgroup_store(columns[i], sums + column * 8, kDim);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // all sums are there, the weights read
    }

#pragma unroll
    for (uint r = 0; r < kRows; ++r) {
        const uint row = simdgroup * kRows + r, token = first_token + row;
        if (token >= args.n_tokens) continue;
        device float* const to = out + (ulong(token) * args.n_head + head) * kDim;
        for (uint dim = lane * 4; dim < kDim; dim += 128) {
            const float4 sum = *reinterpret_cast<threadgroup const float4*>(sums + row * kDim + dim);
            // An empty window gives zeros; a score that is no number shows as one.
            store4(to + dim, window[r].is_empty() ? float4(0) : sum / total[r]);
        }
    }
}

// The cells of a partial last block of K and of V, as bytes, and zeros for those it lacks.
kernel void attention_tail_pad(device const uchar* k [[buffer(0)]],
                               device const uchar* v [[buffer(1)]],
                               device uchar* tail [[buffer(2)]],  // [2][kPrefillCells][cell_bytes]
                               constant AttentionTailPadArgs& args [[buffer(3)]],
                               uint3 position [[thread_position_in_grid]]) {
    const uint byte = position.x * 16, cell = position.y, which = position.z;
    if (byte >= args.cell_bytes) return;
    device const uchar* const region = which == 0 ? k : v;
    uint4 bytes = 0;
    if (cell < args.n_cells)
        bytes = load_uint4(region + ulong(args.first_cell + cell) * args.cell_bytes + byte);
    store_uint4(tail + ulong(which * kPrefillCells + cell) * args.cell_bytes + byte, bytes);
}

#define MINFER_PREFILL(dim, name, Cell, kind, Window)                                           \
    template [[host_name("attention_prefill_" #name "_" #dim "_" #kind)]] kernel void           \
    attention_prefill<Cell, dim, Window>(device const float*, device const Cell*,               \
                                         device const Cell*, device const Cell*,                \
                                         device const int*, device float*,                      \
                                         constant AttentionPrefillArgs&, threadgroup float*,    \
                                         uint2, uint, uint, uint);
#define MINFER_PREFILL_WINDOWS(dim, name, Cell)            \
    MINFER_PREFILL(dim, name, Cell, causal, CausalWindow)  \
    MINFER_PREFILL(dim, name, Cell, span, SpanWindow)      \
    MINFER_PREFILL(dim, name, Cell, map, MapWindow)

MINFER_PREFILL_WINDOWS(64, f32, float)
MINFER_PREFILL_WINDOWS(80, f32, float)
MINFER_PREFILL_WINDOWS(96, f32, float)
MINFER_PREFILL_WINDOWS(112, f32, float)
MINFER_PREFILL_WINDOWS(128, f32, float)
MINFER_PREFILL_WINDOWS(256, f32, float)
MINFER_PREFILL_WINDOWS(64, f16, half)
MINFER_PREFILL_WINDOWS(80, f16, half)
MINFER_PREFILL_WINDOWS(96, f16, half)
MINFER_PREFILL_WINDOWS(112, f16, half)
MINFER_PREFILL_WINDOWS(128, f16, half)
MINFER_PREFILL_WINDOWS(256, f16, half)
