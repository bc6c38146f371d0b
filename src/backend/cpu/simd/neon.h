#pragma once
// The operations of simd/scalar.h in Advanced SIMD, as every 64-bit ARM has it: a vector of 8
// floats is two registers, one of 32 bytes likewise.

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace minfer::cpu {

struct Neon {
    static constexpr size_t kWidth = 8;
    using F = float32x4x2_t;
    using I32 = int32x4x2_t;
    using I16 = int16x8x2_t;
    using I8 = uint8x16x2_t;

    // Floats.
    static F splat(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
    static F zero() { return splat(0); }
    static F load(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
    static F load_part(const float* p, size_t n) {
        float lanes[8] = {};
        __builtin_memcpy(lanes, p, n * sizeof(float));
        return load(lanes);
    }
    static void store(float* p, F x) {
        vst1q_f32(p, x.val[0]);
        vst1q_f32(p + 4, x.val[1]);
    }
    static void store_part(float* p, F x, size_t n) {
        float lanes[8];
        store(lanes, x);
        __builtin_memcpy(p, lanes, n * sizeof(float));
    }
    static F load_f16(const std::byte* p) { return load_f16_part(p, 8); }
    static F load_f16_part(const std::byte* p, size_t n) {
        const auto words = vreinterpretq_f16_u16(load_words(p, n));
        return {vcvt_f32_f16(vget_low_f16(words)), vcvt_high_f32_f16(words)};
    }
    static void store_f16(std::byte* p, F x) {
        const auto halves = vcvt_high_f16_f32(vcvt_f16_f32(x.val[0]), x.val[1]);
        vst1q_u16(reinterpret_cast<uint16_t*>(p), vreinterpretq_u16_f16(halves));
    }
    static F load_bf16(const std::byte* p) { return load_bf16_part(p, 8); }
    static F load_bf16_part(const std::byte* p, size_t n) {
        const auto words = load_words(p, n);
        return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(words), 16)),
                vreinterpretq_f32_u32(vshll_high_n_u16(words, 16))};
    }
    static float half(uint16_t bits) {
        return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
    }
    static F widen_quants(const int8_t* p) {
        const auto words = vmovl_s8(vld1_s8(p));
        return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))),
                vcvtq_f32_s32(vmovl_high_s16(words))};
    }

    static F add(F a, F b) {
        return {vaddq_f32(a.val[0], b.val[0]), vaddq_f32(a.val[1], b.val[1])};
    }
    static F sub(F a, F b) {
        return {vsubq_f32(a.val[0], b.val[0]), vsubq_f32(a.val[1], b.val[1])};
    }
    static F mul(F a, F b) {
        return {vmulq_f32(a.val[0], b.val[0]), vmulq_f32(a.val[1], b.val[1])};
    }
    static F div(F a, F b) {
        return {vdivq_f32(a.val[0], b.val[0]), vdivq_f32(a.val[1], b.val[1])};
    }
    static F fma(F a, F b, F c) {
        return {vfmaq_f32(c.val[0], a.val[0], b.val[0]), vfmaq_f32(c.val[1], a.val[1], b.val[1])};
    }
    // b where either is NaN: the instructions of that name would give NaN.
    static F max(F a, F b) {
        return {vbslq_f32(vcgtq_f32(a.val[0], b.val[0]), a.val[0], b.val[0]),
                vbslq_f32(vcgtq_f32(a.val[1], b.val[1]), a.val[1], b.val[1])};
    }
    static F min(F a, F b) {
        return {vbslq_f32(vcltq_f32(a.val[0], b.val[0]), a.val[0], b.val[0]),
                vbslq_f32(vcltq_f32(a.val[1], b.val[1]), a.val[1], b.val[1])};
    }
    static F abs(F a) { return {vabsq_f32(a.val[0]), vabsq_f32(a.val[1])}; }
    static F round(F a) { return {vrndnq_f32(a.val[0]), vrndnq_f32(a.val[1])}; }
    static F exp2i(F n) { return {exp2i_4(n.val[0]), exp2i_4(n.val[1])}; }
    static float sum(F a) {
        const auto four = vaddq_f32(a.val[0], a.val[1]);
        const auto two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
        return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
    }
    static float max_lane(F a) {
        const auto most = max(a, {a.val[1], a.val[0]});
        float lanes[4];
        vst1q_f32(lanes, most.val[0]);
        float result = lanes[0];
        for (const float x : lanes) result = x > result ? x : result;
        return result;
    }

    // Bytes.
    static I8 load_i8(const void* p) {
        const auto* const bytes = static_cast<const uint8_t*>(p);
        return {vld1q_u8(bytes), vld1q_u8(bytes + 16)};
    }
    static I8 nibbles(const uint8_t* p) {
        const auto both = vld1q_u8(p);
        return {vandq_u8(both, vdupq_n_u8(15)), vshrq_n_u8(both, 4)};
    }
    static I8 splat_i8(int x) {
        const auto bytes = vdupq_n_u8(static_cast<uint8_t>(x));
        return {bytes, bytes};
    }
    static I8 spread_bits(const uint8_t* p, int value) {
        return {spread_16(p, value), spread_16(p + 2, value)};
    }
    template <int Shift, int Mask>
    static I8 bits(I8 x) {
        const auto shift = vdupq_n_s8(-Shift);
        const auto mask = vdupq_n_u8(Mask);
        return {vandq_u8(vshlq_u8(x.val[0], shift), mask),
                vandq_u8(vshlq_u8(x.val[1], shift), mask)};
    }
    static I8 or_i8(I8 a, I8 b) {
        return {vorrq_u8(a.val[0], b.val[0]), vorrq_u8(a.val[1], b.val[1])};
    }
    static I8 sub_i8(I8 a, int b) {
        const auto bytes = vdupq_n_u8(static_cast<uint8_t>(b));
        return {vsubq_u8(a.val[0], bytes), vsubq_u8(a.val[1], bytes)};
    }
    static void store_i8(int8_t* p, F a, F b, F c, F d) {
        vst1q_s8(p, vcombine_s8(narrow(a), narrow(b)));
        vst1q_s8(p + 16, vcombine_s8(narrow(c), narrow(d)));
    }

    // Integers.
    static I32 zero_i32() { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
    static I32 dot_i8(I8 x, I8 y) {
        return {dot_16(vreinterpretq_s8_u8(x.val[0]), vreinterpretq_s8_u8(y.val[0])),
                dot_16(vreinterpretq_s8_u8(x.val[1]), vreinterpretq_s8_u8(y.val[1]))};
    }
    // The unsigned operands that occur, up to 128 exclusive, are signed bytes as well.
    static I32 dot_u8(I8 x, I8 y) { return dot_i8(x, y); }
    static I32 mad_u8(I32 acc, I8 x, I8 y, int16_t scale) {
        return mad_u8(acc, x, y, scale, scale);
    }
    static I32 mad_u8(I32 acc, I8 x, I8 y, int16_t low, int16_t high) {
        const auto dot = dot_u8(x, y);
        return {vmlaq_n_s32(acc.val[0], dot.val[0], low),
                vmlaq_n_s32(acc.val[1], dot.val[1], high)};
    }
    static I16 load_i16(const int16_t* p) { return {vld1q_s16(p), vld1q_s16(p + 8)}; }
    static void store_i16(int16_t* p, I16 x) {
        vst1q_s16(p, x.val[0]);
        vst1q_s16(p + 8, x.val[1]);
    }
    static I16 widen_i8(const int8_t* p) {
        const auto bytes = vld1q_s8(p);
        return {vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)};
    }
    static I16 widen_twice(uint64_t word) {
        const auto bytes = vcreate_u8(word);
        const auto twice = vzip_u8(bytes, bytes);
        return {vreinterpretq_s16_u16(vmovl_u8(twice.val[0])),
                vreinterpretq_s16_u16(vmovl_u8(twice.val[1]))};
    }
    static I32 dot_i16(I16 a, I16 b) {
        return {dot_8(a.val[0], b.val[0]), dot_8(a.val[1], b.val[1])};
    }
    static I32 add_i32(I32 a, I32 b) {
        return {vaddq_s32(a.val[0], b.val[0]), vaddq_s32(a.val[1], b.val[1])};
    }
    static I32 sub_i32(I32 a, I32 b) {
        return {vsubq_s32(a.val[0], b.val[0]), vsubq_s32(a.val[1], b.val[1])};
    }
    template <int Bits>
    static I32 shift_left_i32(I32 a) {
        return {vshlq_n_s32(a.val[0], Bits), vshlq_n_s32(a.val[1], Bits)};
    }
    static F to_f(I32 a) { return {vcvtq_f32_s32(a.val[0]), vcvtq_f32_s32(a.val[1])}; }
    static int32_t sum_i32(I32 a) { return vaddvq_s32(vaddq_s32(a.val[0], a.val[1])); }

  private:
    static uint16x8_t load_words(const std::byte* p, size_t n) {
        uint16_t words[8] = {};
        __builtin_memcpy(words, p, n * 2);
        return vld1q_u16(words);
    }
    static float32x4_t exp2i_4(float32x4_t n) {
        const auto exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
        return vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23));
    }
    static uint8x16_t spread_16(const uint8_t* p, int value) {
        const auto bytes = vcombine_u8(vdup_n_u8(p[0]), vdup_n_u8(p[1]));
        const auto bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
        return vandq_u8(vtstq_u8(bytes, bit), vdupq_n_u8(static_cast<uint8_t>(value)));
    }
    static int8x8_t narrow(F x) {
        return vmovn_s16(
            vcombine_s16(vmovn_s32(vcvtnq_s32_f32(x.val[0])), vmovn_s32(vcvtnq_s32_f32(x.val[1]))));
    }
    static int32x4_t dot_16(int8x16_t x, int8x16_t y) {
        // Pairs of products fit 16 bits signed: |x| <= 128, |y| <= 127.
        const auto low = vmull_s8(vget_low_s8(x), vget_low_s8(y));
        const auto high = vmull_high_s8(x, y);
        return vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
    }
    static int32x4_t dot_8(int16x8_t a, int16x8_t b) {
        return vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b));
    }
};

}  // namespace minfer::cpu
