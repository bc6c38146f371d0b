// Matrix times vector for the types with superblocks of 256 weights: Q4_K, Q5_K, Q6_K.
//
// As for the smaller blocks, weights are masked where they lie and the activations divided by the
// place; what a group of weights subtracts is multiplied with the group's sum of activations.
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "mul_mv_kernel.h"
using namespace metal;

// Q4_K and Q5_K. Eight lanes to a superblock: a lane has 8 bytes each of the chunks `half_index`
// and half_index + 2 of four, that is, 8 weights of four groups of 32: low nibbles are of one
// group, high nibbles of the next.
struct Groups4 {
    ushort4 first, second;  // nibbles of the chunks
    ushort4 fifth;          // Q5_K: bits of all eight groups for the same 8 positions
    float4 scales, mins;    // of the four groups, times d and -dmin
};

struct Groups4Activations {
    float4 even[4], odd[4];  // of each group, divided by the place where its weights are
    float4 sums;             // of each group
};

template <bool kHasFifthBit>
struct Nibble_K {
    static constant constexpr uint kFifthAt = 16, kQsAt = kHasFifthBit ? 48 : 16;
    static constant constexpr uint kBlock = 256, kBytes = kQsAt + 128, kLanes = 8;
    static constant constexpr bool kSplitsK = false;
    using Weights = Groups4;
    using Activations = Groups4Activations;

    static ushort4 load_8(device const uchar* p) {
        return as_type<ushort4>(uint2(*reinterpret_cast<device const packed_uint2*>(p)));
    }

    // The 6-bit scales and mins of the groups 2h, 2h + 1, 2h + 4, 2h + 5.
    static Weights weights(device const uchar* p, uint part, uint) {
        const uint h = part / 4, at = 32 * h + 8 * (part % 4);
        Weights w;
        w.first = load_8(p + kQsAt + at);
        w.second = load_8(p + kQsAt + 64 + at);
        // Shifted so that what the groups look for is in the lowest bits of each byte.
        if (kHasFifthBit) w.fifth = load_8(p + kFifthAt + 8 * (part % 4)) >> ushort(2 * h);

        const uint4 header = load_uint4(p);
        const half2 d = as_type<half2>(header.x);
        const uint s = header.y >> (16 * h), m = header.z >> (16 * h), both = header.w >> (16 * h);
        const uint scales = (s & 0x3f3f) | (((both & 0x0f0f) | ((s & 0xc0c0) >> 2)) << 16);
        const uint mins = (m & 0x3f3f) | ((((both >> 4) & 0x0f0f) | ((m & 0xc0c0) >> 2)) << 16);
        w.scales = float4(as_type<uchar4>(scales)) * float(d.x);
        w.mins = float4(as_type<uchar4>(mins)) * -float(d.y);
        return w;
    }

    static Activations activations(device const float* x, uint part, uint) {
        const uint at = 64 * (part / 4) + 8 * (part % 4);
        Activations y;
#pragma unroll
        for (uint g = 0; g < 4; ++g) {
            device const float* from = x + at + (g / 2) * 128 + (g % 2) * 32;
            const float4 a = load4(from), b = load4(from + 4);
            y.even[g] = float4(a.xz, b.xz);
            y.odd[g] = float4(a.yw, b.yw);
            const float4 sum = y.even[g] + y.odd[g];
            y.sums[g] = (sum.x + sum.y) + (sum.z + sum.w);
            // Of Q5_K the high nibbles are shifted down, to make room for the fifth bit.
            const bool high = g % 2 == 1 && !kHasFifthBit;
            if (high) y.even[g] *= 1.0f / 16;
            y.odd[g] *= high ? 1.0f / 4096 : 1.0f / 256;
        }
        return y;
    }

    static float4 group(ushort4 even, ushort4 odd, thread const Activations& y, uint g) {
        return fma(float4(odd), y.odd[g], float4(even) * y.even[g]);
    }

    static float4 dot(thread const Weights& w, thread const Activations& y, float4 sum) {
        float4 q[4];
        if (kHasFifthBit) {
            const ushort4 bytes[4] = {
                (w.first & 0x0f0f) | ((w.fifth & 0x0101) << 4),
                ((w.first >> 4) & 0x0f0f) | ((w.fifth & 0x0202) << 3),
                (w.second & 0x0f0f) | (w.fifth & 0x1010),
                ((w.second >> 4) & 0x0f0f) | ((w.fifth & 0x2020) >> 1),
            };
#pragma unroll
            for (uint g = 0; g < 4; ++g) q[g] = group(bytes[g] & 0x00ff, bytes[g] & 0xff00, y, g);
        } else {
            q[0] = group(w.first & 0x000f, w.first & 0x0f00, y, 0);
            q[1] = group(w.first & 0x00f0, w.first & 0xf000, y, 1);
            q[2] = group(w.second & 0x000f, w.second & 0x0f00, y, 2);
            q[3] = group(w.second & 0x00f0, w.second & 0xf000, y, 3);
        }
        sum = fma(w.mins, y.sums, sum);
#pragma unroll
        for (uint g = 0; g < 4; ++g) sum = fma(float4(w.scales[g]), q[g], sum);
        return sum;
    }
};

// Q6_K. Sixteen lanes to a superblock: a lane has 4 bytes of `ql`, the 4 that lie 32 further, and 4
// bytes of `qh`, which make 4 neighbouring weights in each of four groups 32 apart.
struct Sixes {
    uint low, low_32, high;
    float4 scales;  // of the four groups, times d
};

struct SixActivations {
    float4 groups[4];  // each divided by the place of its byte
    float4 sums;       // of each group, times what is subtracted from every weight
};

struct Six_K {
    static constant constexpr uint kBlock = 256, kBytes = 210, kLanes = 16;
    static constant constexpr bool kSplitsK = false;
    using Weights = Sixes;
    using Activations = SixActivations;

    static uint load_4(device const uchar* p) {
        return as_type<uint>(ushort2(*reinterpret_cast<device const packed_ushort2*>(p)));
    }

    static Weights weights(device const uchar* p, uint part, uint) {
        const uint h = part / 8, at = 4 * (part % 8);
        Weights w;
        w.low = load_4(p + 64 * h + at);
        w.low_32 = load_4(p + 64 * h + at + 32);
        w.high = load_4(p + 128 + 32 * h + at);
        // One signed byte of each pair, taken in the upper half of the word: 256 times its value.
        const ushort4 pairs =
            ushort4(*reinterpret_cast<device const packed_ushort4*>(p + 192 + 8 * h));
        const ushort4 scales = (pairs << ushort(part % 8 < 4 ? 8 : 0)) & 0xff00;
        const float d = float(*reinterpret_cast<device const half*>(p + 208));
        w.scales = float4(as_type<short4>(scales)) * (d * (1.0f / 256));
        return w;
    }

    static Activations activations(device const float* x, uint part, uint) {
        const float4 places = float4(1.0f, 1.0f / 256, 1.0f / 65536, 1.0f / 16777216);
        Activations y;
#pragma unroll
        for (uint g = 0; g < 4; ++g) {
            const float4 a = load4(x + 128 * (part / 8) + 32 * g + 4 * (part % 8));
            y.sums[g] = ((a.x + a.y) + (a.z + a.w)) * -32.0f;
            y.groups[g] = a * places;
        }
        return y;
    }

    static float4 dot(thread const Weights& w, thread const Activations& y, float4 sum) {
        const uint bytes[4] = {
            (w.low & 0x0f0f0f0f) | ((w.high & 0x03030303) << 4),
            (w.low_32 & 0x0f0f0f0f) | ((w.high & 0x0c0c0c0c) << 2),
            ((w.low >> 4) & 0x0f0f0f0f) | (w.high & 0x30303030),
            ((w.low_32 >> 4) & 0x0f0f0f0f) | ((w.high & 0xc0c0c0c0) >> 2),
        };
        sum = fma(w.scales, y.sums, sum);
#pragma unroll
        for (uint g = 0; g < 4; ++g) {
            const int4 q = int4(int(bytes[g])) & int4(0xff, 0xff00, 0xff0000, 0x3f000000);
            sum = fma(float4(w.scales[g]), float4(q) * y.groups[g], sum);
        }
        return sum;
    }
};

using Q4_K = Nibble_K<false>;
using Q5_K = Nibble_K<true>;

MINFER_MUL_MV("q4_k", Q4_K, kMulMvRowsK)
MINFER_MUL_MV("q5_k", Q5_K, kMulMvRowsK)
MINFER_MUL_MV("q6_k", Six_K, kMulMvRowsK)
