// Matrix times matrix: out[t][o] = sum over k of W[o][k] * x[t][k], accumulated in f32.
//
// 128 threads, four SIMD groups, make a tile of 64 outputs by 32 or 16 tokens. Every 32 inputs they
// bring both operands into threadgroup memory as 8x8 matrices that each lie in one piece, ready to
// be loaded; weights are W[o][k] there and activations x[k][t], so that a SIMD group's results are
// [o][t]. Whether the tile is full matters only when results are stored: rows and tokens that do
// not exist are copies of the last one.
//
// Tiles of half hold weights and activations rounded once. An activation above the largest half
// would become infinity: then the whole tile is computed a second time, the tokens concerned scaled
// by a power of two, which changes no digit. Common activations pay one maximum an element.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "dequantize.h"
#include "mul_mm.h"
#include "packed.h"
using namespace metal;

namespace mul_mm_tile {

constant constexpr uint kRows = kMulMmRows, kDepth = kMulMmDepth, kSteps = kDepth / 8;
constant constexpr uint kMatrix = 64;  // elements of one

// How the four SIMD groups share a tile.
template <uint kTokens>
struct Share {
    static constant constexpr uint kAcross = kTokens / 16;    // SIMD groups side by side
    static constant constexpr uint kTall = kAcross * 2;       // matrices of 8 rows in each
    static constant constexpr uint kOutputs = kTall * 8;      // rows in each
    static constant constexpr uint kPerThread = kTokens / 16;  // tokens that a thread stages
};

// 16 weights of one row from input `k` on, the row as a whole having `in_dim`.
template <typename Type>
static dequant::Weights16 load_weights(device const uchar* row, uint k, uint in_dim) {
    device const uchar* const block = row + k / Type::kBlockValues * Type::kBlockBytes;
    if constexpr (dequant::has_any_width<Type>()) {
        if (k + 16 > in_dim)
            return dequant::load_some<Type>(block, in_dim - min(k, in_dim));
    }
    return Type::load(block, k % Type::kBlockValues / 16);
}

// 4 activations of one token from input `k` on; past the end there are zeros.
template <typename Type>
static float4 load_activations(device const float* x, uint k, uint in_dim) {
    if constexpr (dequant::has_any_width<Type>()) {
        if (k + 4 > in_dim) {
            float4 some = 0.0f;
#pragma unroll
            for (uint i = 0; i < 4; ++i) {
                if (k + i < in_dim) some[i] = x[k + i];
            }
            return some;
        }
    }
    return load4(x + k);
}

// Two to the 14 - n, where `peak` is at least two to the n and less than twice that.
static float scale_below_overflow(float peak) {
    return as_type<float>((268u - (as_type<uint>(peak) >> 23)) << 23);
}

}  // namespace mul_mm_tile

template <typename Type, typename T, uint kTokens>
[[max_total_threads_per_threadgroup(kMulMmThreads)]]
kernel void mul_mm(device const uchar* weights [[buffer(0)]],
                   device const float* x [[buffer(1)]],
                   device float* out [[buffer(2)]],
                   constant MulMmArgs& args [[buffer(3)]],
                   threadgroup T* tile [[threadgroup(0)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint thread_index [[thread_index_in_threadgroup]],
                   uint simd [[simdgroup_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]]) {
    using Shares = mul_mm_tile::Share<kTokens>;
    constexpr uint kPer = Shares::kPerThread, kTall = Shares::kTall;
    constexpr uint kAcross = Shares::kAcross, kOutputs = Shares::kOutputs;
    constexpr uint kRows = mul_mm_tile::kRows, kDepth = mul_mm_tile::kDepth;
    constexpr uint kSteps = mul_mm_tile::kSteps, kMatrix = mul_mm_tile::kMatrix;
    constexpr bool kOverflows = is_same_v<T, half>;
    const uint first_row = group.y * kRows, first_token = group.x * kTokens;
    const uint in_dim = args.in_dim;

    // What this thread stages: half a row of weights, and four inputs of kPer tokens.
    const uint row = thread_index / 2, piece = thread_index % 2;
    device const uchar* const weight_row =
        weights + ulong(min(first_row + row, args.out_dim - 1)) * args.row_bytes;
    threadgroup T* const weights_to =
        tile + (piece * 2 * (kRows / 8) + row / 8) * kMatrix + row % 8 * 8;
    const uint quad = thread_index % 8, token = thread_index / 8 * kPer;
    device const float* tokens[kPer];
#pragma unroll
    for (uint i = 0; i < kPer; ++i)
        tokens[i] = x + ulong(min(first_token + token + i, args.n_tokens - 1)) * in_dim;
    threadgroup T* const activations = tile + kRows * kDepth;
    threadgroup T* const activations_to =
        activations + (quad / 2 * (kTokens / 8) + token / 8) * kMatrix + quad % 2 * 32 + token % 8;

    // What its SIMD group computes.
    const uint simd_row = simd / kAcross * kOutputs, simd_token = simd % kAcross * 16;
    threadgroup const T* const left = tile + simd_row / 8 * kMatrix;
    threadgroup const T* const right = activations + simd_token / 8 * kMatrix;
    simdgroup_matrix<float, 8, 8> sums[kTall][2];

    float scale[kPer];          // of the tokens it stages
    float lane_scale = 1.0f;    // of the tile's token number `lane`
    bool scaled = false;        // whether any is not 1; the same in all threads
    float peak[kPer];           // largest magnitude among what it stages
#pragma unroll
    for (uint i = 0; i < kPer; ++i) {
        scale[i] = 1.0f;
        peak[i] = 0.0f;
    }
    for (;;) {
#pragma unroll
        for (uint i = 0; i < kTall; ++i) {
#pragma unroll
            for (uint j = 0; j < 2; ++j)
                sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
        for (uint k = 0; k < in_dim; k += kDepth) {
            const dequant::Weights16 w =
                mul_mm_tile::load_weights<Type>(weight_row, k + 16 * piece, in_dim);
            float4 v[kPer];
#pragma unroll
            for (uint i = 0; i < kPer; ++i) {
                v[i] = mul_mm_tile::load_activations<Type>(tokens[i], k + 4 * quad, in_dim);
                if constexpr (kOverflows) {
                    const float4 size = abs(v[i]);
                    peak[i] = max(peak[i], max(max(size.x, size.y), max(size.z, size.w)));
                    v[i] *= scale[i];
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);  // the last matrices have been read
#pragma unroll
            for (uint i = 0; i < 4; ++i)
                *reinterpret_cast<threadgroup vec<T, 4>*>(
                    weights_to + i / 2 * (kRows / 8) * kMatrix + i % 2 * 4) = vec<T, 4>(w.part[i]);
#pragma unroll
            for (uint i = 0; i < 4; ++i) {
#pragma unroll
                for (uint j = 0; j < kPer; ++j) activations_to[i * 8 + j] = T(v[j][i]);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
            for (uint step = 0; step < kSteps; ++step) {
                simdgroup_matrix<T, 8, 8> a[kTall], b[2];
#pragma unroll
                for (uint i = 0; i < kTall; ++i)
                    simdgroup_load(a[i], left + (step * (kRows / 8) + i) * kMatrix, 8);
#pragma unroll
                for (uint j = 0; j < 2; ++j)
                    simdgroup_load(b[j], right + (step * (kTokens / 8) + j) * kMatrix, 8);
#pragma unroll
                for (uint i = 0; i < kTall; ++i) {
#pragma unroll
                    for (uint j = 0; j < 2; ++j)
                        simdgroup_multiply_accumulate(sums[i][j], a[i], b[j], sums[i][j]);
                }
            }
        }
        if (!kOverflows || scaled) break;
        // The largest of each token, from the eight lanes that staged it to everyone.
        threadgroup float* const peaks = reinterpret_cast<threadgroup float*>(tile);
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint i = 0; i < kPer; ++i) {
            float most = max(peak[i], simd_shuffle_xor(peak[i], 1));
            most = max(most, simd_shuffle_xor(most, 2));
            most = max(most, simd_shuffle_xor(most, 4));
            if (quad == 0) peaks[token + i] = most;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const float most = peaks[lane % kTokens];
        scaled = simd_any(most > HALF_MAX);
        if (!scaled) break;
        if (most > HALF_MAX) lane_scale = mul_mm_tile::scale_below_overflow(most);
#pragma unroll
        for (uint i = 0; i < kPer; ++i) scale[i] = simd_shuffle(lane_scale, ushort(token + i));
    }

    const uint out_dim = args.out_dim;
    const bool full = first_row + kRows <= out_dim && first_token + kTokens <= args.n_tokens;
    if (full && !scaled) {
        device float* const to =
            out + ulong(first_token + simd_token) * out_dim + first_row + simd_row;
#pragma unroll
        for (uint i = 0; i < kTall; ++i) {
#pragma unroll
            for (uint j = 0; j < 2; ++j)
                simdgroup_store(sums[i][j], to + ulong(j) * 8 * out_dim + i * 8, out_dim, 0, true);
        }
    } else {
        // Through threadgroup memory, 8 tokens of each SIMD group at a time. Others still read what
        // lies there.
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup float* const results =
            reinterpret_cast<threadgroup float*>(tile) + simd * 8 * kOutputs;
        const float undo = 1.0f / lane_scale;
#pragma unroll
        for (uint j = 0; j < 2; ++j) {
#pragma unroll
            for (uint i = 0; i < kTall; ++i)
                simdgroup_store(sums[i][j], results + i * 8, kOutputs, 0, true);
            simdgroup_barrier(mem_flags::mem_threadgroup);
            for (uint i = 0; i < 8 * kOutputs; i += 32) {
                const uint t = simd_token + j * 8 + (i + lane) / kOutputs;
                const uint o = first_row + simd_row + (i + lane) % kOutputs;
                const float value = results[i + lane] * simd_shuffle(undo, ushort(t));
                if (first_token + t < args.n_tokens && o < out_dim)
                    out[ulong(first_token + t) * out_dim + o] = value;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
}

#define MINFER_MUL_MM(name, Type, T, tokens)                                                     \
    template [[host_name("mul_mm_" #name "_" #T "_" #tokens)]] kernel void                       \
    mul_mm<dequant::Type, T, tokens>(device const uchar*, device const float*,           \
                                             device float*, constant MulMmArgs&, threadgroup T*, \
                                             uint2, uint, uint, uint);
#define MINFER_MUL_MM_TILES(name, Type, T) \
    MINFER_MUL_MM(name, Type, T, 16)       \
    MINFER_MUL_MM(name, Type, T, 32)
#define MINFER_MUL_MM_ALL(name, Type)      \
    MINFER_MUL_MM_TILES(name, Type, half)  \
    MINFER_MUL_MM_TILES(name, Type, float)

MINFER_MUL_MM_ALL(q4_0, Q4_0)
MINFER_MUL_MM_ALL(q4_1, Q4_1)
MINFER_MUL_MM_ALL(q5_0, Q5_0)
MINFER_MUL_MM_ALL(q5_1, Q5_1)
MINFER_MUL_MM_ALL(q8_0, Q8_0)
MINFER_MUL_MM_ALL(q4_k, Q4_K)
MINFER_MUL_MM_ALL(q5_k, Q5_K)
MINFER_MUL_MM_ALL(q6_k, Q6_K)
MINFER_MUL_MM_ALL(f16, F16)
MINFER_MUL_MM_TILES(bf16, BF16, float)
MINFER_MUL_MM_TILES(f32, F32, float)
