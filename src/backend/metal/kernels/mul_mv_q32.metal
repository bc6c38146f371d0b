// Matrix times vector for the types with blocks of 32 weights.
//
// Weights are masked where they lie in 16-bit words and not shifted down: the activations they meet
// are divided by the place instead, which is exact, once for all rows. What a type subtracts from
// every weight is subtracted from the sum: sum d(q - 8)a = d(sum qa - 8 sum a).
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#include <metal_stdlib>
#include "mul_mv_kernel.h"
using namespace metal;

static ushort load_ushort(device const uchar* p) {
    return *reinterpret_cast<device const ushort*>(p);
}

static ushort2 load_ushort2(device const uchar* p) {
    return ushort2(*reinterpret_cast<device const packed_ushort2*>(p));
}

static ushort4 load_ushort4(device const uchar* p) {
    return ushort4(*reinterpret_cast<device const packed_ushort4*>(p));
}

// Q4_0, Q4_1, Q5_0, Q5_1: two lanes to a block, each with 8 bytes of `qs`, whose low nibbles are
// the weights part * 8 and up, and whose high nibbles are those 16 further.
struct Nibbles {
    ushort4 qs;
    uint high;  // fifth bits: of the low nibbles from bit 0, of the high ones from bit 16
    float scale, shift;
};

// Of the even and the odd bytes, for the low and for the high nibbles.
struct NibbleActivations {
    float4 low_even, low_odd, high_even, high_odd;  // over 1, 256, 16, 4096
    float4 sum;
};

// d at 0; with kHasMin m follows, with kHasFifthBit 32 bits of them; then 16 bytes.
template <bool kHasMin, bool kHasFifthBit>
struct Nibble {
    static constant constexpr uint kHighAt = kHasMin ? 4 : 2, kQsAt = kHighAt + (kHasFifthBit ? 4 : 0);
    static constant constexpr uint kBlock = 32, kBytes = kQsAt + 16, kLanes = 2;
    static constant constexpr bool kSplitsK = false;
    using Weights = Nibbles;
    using Activations = NibbleActivations;

    static Weights weights(device const uchar* p, uint part, uint) {
        Weights w;
        w.qs = load_ushort4(p + kQsAt + part * 8);
        w.scale = float(as_type<half>(load_ushort(p)));
        w.shift = kHasMin ? float(as_type<half>(load_ushort(p + 2))) : 0.0f;
        w.high = kHasFifthBit ? as_type<uint>(load_ushort2(p + kHighAt)) >> (part * 8) : 0;
        return w;
    }

    static Activations activations(device const float* x, uint part, uint) {
        const float4 a = load4(x + part * 8), b = load4(x + part * 8 + 4);
        const float4 c = load4(x + part * 8 + 16), d = load4(x + part * 8 + 20);
        Activations y;
        y.low_even = float4(a.xz, b.xz);
        y.low_odd = float4(a.yw, b.yw);
        y.high_even = float4(c.xz, d.xz);
        y.high_odd = float4(c.yw, d.yw);
        y.sum = (y.low_even + y.low_odd) + (y.high_even + y.high_odd);
        if (!kHasMin) y.sum *= kHasFifthBit ? -16.0f : -8.0f;
        y.low_odd *= 1.0f / 256;
        y.high_even *= 1.0f / 16;
        y.high_odd *= 1.0f / 4096;
        return y;
    }

    static float4 dot(thread const Weights& w, thread const Activations& y, float4 sum) {
        uint4 low_even = uint4(w.qs & 0x000f), low_odd = uint4(w.qs & 0x0f00);
        uint4 high_even = uint4(w.qs & 0x00f0), high_odd = uint4(w.qs & 0xf000);
        if (kHasFifthBit) {
            // Bit 2i belongs to the even byte of word i, bit 2i + 1 to the odd one.
            const uint4 bits = uint4(w.high, w.high >> 2, w.high >> 4, w.high >> 6);
            low_even |= (bits & 0x00001) << 4;
            low_odd |= (bits & 0x00002) << 11;
            high_even |= (bits & 0x10000) >> 8;
            high_odd |= (bits & 0x20000) >> 1;
        }
        float4 q = kHasMin ? float4(low_even) * y.low_even
                           : fma(float4(low_even), y.low_even, y.sum);
        q = fma(float4(low_odd), y.low_odd, q);
        q = fma(float4(high_even), y.high_even, q);
        q = fma(float4(high_odd), y.high_odd, q);
        sum = fma(float4(w.scale), q, sum);
        return kHasMin ? fma(float4(w.shift), y.sum, sum) : sum;
    }
};

// Q8_0: four lanes to a block, eight weights each. A signed byte is taken in the upper half of its
// word, which is 256 times its value; the scale makes up for it.
struct Bytes {
    ushort4 qs;
    float scale;
};

struct ByteActivations {
    float4 even, odd;
};

struct Byte {
    static constant constexpr uint kBlock = 32, kBytes = 34, kLanes = 4;
    static constant constexpr bool kSplitsK = true;
    using Weights = Bytes;
    using Activations = ByteActivations;

    static Weights weights(device const uchar* p, uint part, uint) {
        return {load_ushort4(p + 2 + part * 8), float(as_type<half>(load_ushort(p))) * (1.0f / 256)};
    }

    static Activations activations(device const float* x, uint part, uint) {
        const float4 a = load4(x + part * 8), b = load4(x + part * 8 + 4);
        return {float4(a.xz, b.xz), float4(a.yw, b.yw)};
    }

    static float4 dot(thread const Weights& w, thread const Activations& y, float4 sum) {
        const float4 even = float4(as_type<short4>(w.qs << 8));
        const float4 odd = float4(as_type<short4>(w.qs & 0xff00));
        return fma(float4(w.scale), fma(odd, y.odd, even * y.even), sum);
    }
};

using Q4_0 = Nibble<false, false>;
using Q4_1 = Nibble<true, false>;
using Q5_0 = Nibble<false, true>;
using Q5_1 = Nibble<true, true>;

MINFER_MUL_MV("q4_0", Q4_0, kMulMvRowsQ32)
MINFER_MUL_MV("q4_1", Q4_1, kMulMvRowsQ32)
MINFER_MUL_MV("q5_0", Q5_0, kMulMvRowsQ32)
MINFER_MUL_MV("q5_1", Q5_1, kMulMvRowsQ32)
MINFER_MUL_MV("q8_0", Byte, kMulMvRowsQ8)
