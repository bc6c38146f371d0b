#pragma once
// The vector type every kernel is written over, in plain C++: what each operation means. The other
// headers of this folder give the same operations in one instruction set each.
//
// F is 8 floats, I32 8 integers, I16 16 integers, I8 32 bytes whose sign is a matter of the
// operation. Integer operations are exact, so all instruction sets agree on them; fma() here rounds
// twice, the others once.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace minfer::cpu {

struct Scalar {
    static constexpr size_t kWidth = 8;
    struct F {
        float v[8];
    };
    struct I32 {
        int32_t v[8];
    };
    struct I16 {
        int16_t v[16];
    };
    struct I8 {
        uint8_t v[32];
    };

    // Floats. `_part` reads or writes the first n < 8 only; lanes past them load as zero.
    static F splat(float x) {
        return each([&](int) { return x; });
    }
    static F zero() { return splat(0); }
    static F load(const float* p) {
        return each([&](int i) { return p[i]; });
    }
    static F load_part(const float* p, size_t n) {
        return each([&](int i) { return static_cast<size_t>(i) < n ? p[i] : 0.f; });
    }
    static void store(float* p, F x) { std::memcpy(p, x.v, sizeof x.v); }
    static void store_part(float* p, F x, size_t n) { std::memcpy(p, x.v, n * sizeof(float)); }
    static F load_f16(const std::byte* p) { return load_f16_part(p, 8); }
    static F load_f16_part(const std::byte* p, size_t n) {
        uint16_t half[8] = {};
        std::memcpy(half, p, n * 2);
        return each([&](int i) { return f16_to_f32(half[i]); });
    }
    static void store_f16(std::byte* p, F x) {
        uint16_t half[8];
        for (int i = 0; i < 8; ++i) half[i] = f32_to_f16(x.v[i]);
        std::memcpy(p, half, sizeof half);
    }
    static F load_bf16(const std::byte* p) { return load_bf16_part(p, 8); }
    static F load_bf16_part(const std::byte* p, size_t n) {
        uint16_t half[8] = {};
        std::memcpy(half, p, n * 2);
        return each([&](int i) { return bf16_to_f32(half[i]); });
    }
    static float half(uint16_t bits) { return f16_to_f32(bits); }
    // 8 signed bytes.
    static F widen_quants(const int8_t* p) {
        return each([&](int i) { return static_cast<float>(p[i]); });
    }

    static F add(F a, F b) {
        return each([&](int i) { return a.v[i] + b.v[i]; });
    }
    static F sub(F a, F b) {
        return each([&](int i) { return a.v[i] - b.v[i]; });
    }
    static F mul(F a, F b) {
        return each([&](int i) { return a.v[i] * b.v[i]; });
    }
    static F div(F a, F b) {
        return each([&](int i) { return a.v[i] / b.v[i]; });
    }
    static F fma(F a, F b, F c) {
        return each([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
    }
    // b where either is NaN.
    static F max(F a, F b) {
        return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
    }
    static F min(F a, F b) {
        return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
    }
    static F abs(F a) {
        return each([&](int i) { return std::fabs(a.v[i]); });
    }
    // To an integral value, ties to even; |a| < 2^22 or NaN.
    static F round(F a) {
        return each([&](int i) {
            constexpr float kMagic = 12582912.f;  // 1.5 * 2^23: its unit in the last place is 1
            return (a.v[i] + kMagic) - kMagic;
        });
    }
    // 2^n for integral n in [-126, 127]; NaN gives an unspecified finite value or NaN.
    static F exp2i(F n) {
        return each([&](int i) {
            const int exponent = n.v[i] >= -126 && n.v[i] <= 127 ? static_cast<int>(n.v[i]) : 0;
            return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
        });
    }
    // ((0+4)+(2+6)) + ((1+5)+(3+7)), in every instruction set.
    static float sum(F a) {
        return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7]));
    }
    static float max_lane(F a) {
        float most = a.v[0];
        for (const float x : a.v) most = x > most ? x : most;
        return most;
    }

    // Bytes.
    static I8 load_i8(const void* p) {
        I8 x;
        std::memcpy(x.v, p, 32);
        return x;
    }
    // 16 bytes as 32 values: the low nibbles, then the high ones.
    static I8 nibbles(const uint8_t* p) {
        return bytes([&](int i) { return i < 16 ? p[i] & 15 : p[i - 16] >> 4; });
    }
    static I8 splat_i8(int x) {
        return bytes([&](int) { return x; });
    }
    // `value` where bit i of the 32 is set, else 0.
    static I8 spread_bits(const uint8_t* p, int value) {
        return bytes([&](int i) { return p[i / 8] >> (i % 8) & 1 ? value : 0; });
    }
    // (x >> Shift) & Mask in each byte, a negative shift going left.
    template <int Shift, int Mask>
    static I8 bits(I8 x) {
        return bytes(
            [&](int i) { return (Shift < 0 ? x.v[i] << -Shift : x.v[i] >> Shift) & Mask; });
    }
    static I8 or_i8(I8 a, I8 b) {
        return bytes([&](int i) { return a.v[i] | b.v[i]; });
    }
    static I8 sub_i8(I8 a, int b) {
        return bytes([&](int i) { return a.v[i] - b; });
    }
    // Four floats of 8 to 32 signed bytes. They are integral and in [-128, 127], or NaN, which
    // gives any byte.
    static void store_i8(int8_t* p, F a, F b, F c, F d) {
        const auto byte = [](float x) { return static_cast<int8_t>(x == x ? x : 0.f); };
        for (int i = 0; i < 8; ++i) {
            p[i] = byte(a.v[i]);
            p[8 + i] = byte(b.v[i]);
            p[16 + i] = byte(c.v[i]);
            p[24 + i] = byte(d.v[i]);
        }
    }

    // Integers. Lane i of a byte product sums the products 4i … 4i+3.
    static I32 zero_i32() { return {}; }
    // Both signed, y >= -127.
    static I32 dot_i8(I8 x, I8 y) {
        return lanes([&](int i) { return dot4<int8_t>(x, y, i); });
    }
    // x unsigned and at most 128, y signed.
    static I32 dot_u8(I8 x, I8 y) {
        return lanes([&](int i) { return dot4<uint8_t>(x, y, i); });
    }
    // acc + scale * dot_u8(x, y); x at most 63, |scale| at most 128.
    static I32 mad_u8(I32 acc, I8 x, I8 y, int16_t scale) {
        return mad_u8(acc, x, y, scale, scale);
    }
    // The same with one scale for the first 16 products and another for the last.
    static I32 mad_u8(I32 acc, I8 x, I8 y, int16_t low, int16_t high) {
        return lanes(
            [&](int i) { return acc.v[i] + (i < 4 ? low : high) * dot4<uint8_t>(x, y, i); });
    }
    static I16 load_i16(const int16_t* p) {
        I16 x;
        std::memcpy(x.v, p, 32);
        return x;
    }
    static void store_i16(int16_t* p, I16 x) { std::memcpy(p, x.v, 32); }
    // 16 signed bytes.
    static I16 widen_i8(const int8_t* p) {
        I16 x;
        for (int i = 0; i < 16; ++i) x.v[i] = p[i];
        return x;
    }
    // The eight unsigned bytes of a word, lowest first, each twice in a row.
    static I16 widen_twice(uint64_t word) {
        I16 x;
        for (int i = 0; i < 16; ++i) x.v[i] = static_cast<int16_t>(word >> (i / 2 * 8) & 255);
        return x;
    }
    // Lane i sums the products 2i and 2i+1.
    static I32 dot_i16(I16 a, I16 b) {
        return lanes(
            [&](int i) { return a.v[2 * i] * b.v[2 * i] + a.v[2 * i + 1] * b.v[2 * i + 1]; });
    }
    static I32 add_i32(I32 a, I32 b) {
        return lanes([&](int i) { return a.v[i] + b.v[i]; });
    }
    static I32 sub_i32(I32 a, I32 b) {
        return lanes([&](int i) { return a.v[i] - b.v[i]; });
    }
    template <int Bits>
    static I32 shift_left_i32(I32 a) {
        return lanes([&](int i) { return a.v[i] * (1 << Bits); });
    }
    static F to_f(I32 a) {
        return each([&](int i) { return static_cast<float>(a.v[i]); });
    }
    static int32_t sum_i32(I32 a) {
        int32_t total = 0;
        for (const auto x : a.v) total += x;
        return total;
    }

  private:
    template <class Lane>
    static F each(Lane lane) {
        F x;
        for (int i = 0; i < 8; ++i) x.v[i] = lane(i);
        return x;
    }
    template <class Lane>
    static I32 lanes(Lane lane) {
        I32 x;
        for (int i = 0; i < 8; ++i) x.v[i] = lane(i);
        return x;
    }
    template <class Byte>
    static I8 bytes(Byte byte) {
        I8 x;
        for (int i = 0; i < 32; ++i) x.v[i] = static_cast<uint8_t>(byte(i));
        return x;
    }
    template <class X>
    static int32_t dot4(const I8& x, const I8& y, int lane) {
        int32_t sum = 0;
        for (int i = 4 * lane; i < 4 * lane + 4; ++i)
            sum += int32_t{static_cast<X>(x.v[i])} * int32_t{static_cast<int8_t>(y.v[i])};
        return sum;
    }
};

}  // namespace minfer::cpu
