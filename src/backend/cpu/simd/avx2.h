#pragma once
// The operations of simd/scalar.h in AVX2, FMA and F16C. Only builtins and own functions in here:
// what this file compiles must not end up in code that runs on older machines.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace minfer::cpu {

struct Avx2 {
    static constexpr size_t kWidth = 8;
    using F = __m256;
    using I32 = __m256i;
    using I16 = __m256i;
    using I8 = __m256i;

    // Floats.
    static F splat(float x) { return _mm256_set1_ps(x); }
    static F zero() { return _mm256_setzero_ps(); }
    static F load(const float* p) { return _mm256_loadu_ps(p); }
    static F load_part(const float* p, size_t n) { return _mm256_maskload_ps(p, first(n)); }
    static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
    static void store_part(float* p, F x, size_t n) { _mm256_maskstore_ps(p, first(n), x); }
    static F load_f16(const std::byte* p) { return _mm256_cvtph_ps(load_128(p)); }
    static F load_f16_part(const std::byte* p, size_t n) {
        return _mm256_cvtph_ps(load_words(p, n));
    }
    static void store_f16(std::byte* p, F x) {
        _mm_storeu_si128(reinterpret_cast<__m128i_u*>(p),
                         _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    }
    static F load_bf16(const std::byte* p) { return widen_bf16(load_128(p)); }
    static F load_bf16_part(const std::byte* p, size_t n) { return widen_bf16(load_words(p, n)); }
    static float half(uint16_t bits) {
        return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
    }
    static F widen_quants(const int8_t* p) {
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadu_si64(p)));
    }

    static F add(F a, F b) { return _mm256_add_ps(a, b); }
    static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
    static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
    static F div(F a, F b) { return _mm256_div_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
    static F max(F a, F b) { return _mm256_max_ps(a, b); }
    static F min(F a, F b) { return _mm256_min_ps(a, b); }
    static F abs(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.f), a); }
    static F round(F a) {
        return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    static F exp2i(F n) {
        const auto exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
        return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
    }
    static float sum(F a) {
        const auto four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
        const auto two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static float max_lane(F a) {
        const auto four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
        const auto two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
    }

    // Bytes.
    static I8 load_i8(const void* p) {
        return _mm256_loadu_si256(static_cast<const __m256i_u*>(p));
    }
    static I8 nibbles(const uint8_t* p) {
        const auto both = load_128(p);
        return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(both, 4), both),
                                _mm256_set1_epi8(15));
    }
    static I8 splat_i8(int x) { return _mm256_set1_epi8(static_cast<char>(x)); }
    static I8 spread_bits(const uint8_t* p, int value) {
        int32_t word;
        __builtin_memcpy(&word, p, 4);
        // Byte i holds bits 8 * (i / 8) …, of which bit i % 8 is asked for.
        const auto bytes = _mm256_shuffle_epi8(
            _mm256_set1_epi32(word),
            _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
        const auto bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201));
        const auto is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
        return _mm256_and_si256(is_set, splat_i8(value));
    }
    template <int Shift, int Mask>
    static I8 bits(I8 x) {
        // There are no byte shifts: bits that cross into a neighbour are masked off.
        static_assert(Shift >= 0 ? Mask <= (255 >> Shift) : (Mask & ((1 << -Shift) - 1)) == 0);
        const auto shifted =
            Shift >= 0 ? _mm256_srli_epi16(x, Shift) : _mm256_slli_epi16(x, -Shift);
        return _mm256_and_si256(shifted, splat_i8(Mask));
    }
    static I8 or_i8(I8 a, I8 b) { return _mm256_or_si256(a, b); }
    static I8 sub_i8(I8 a, int b) { return _mm256_sub_epi8(a, splat_i8(b)); }
    static void store_i8(int8_t* p, F a, F b, F c, F d) {
        const auto ab = _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b));
        const auto cd = _mm256_packs_epi32(_mm256_cvtps_epi32(c), _mm256_cvtps_epi32(d));
        // Packing works within 128-bit halves; put the groups of four back in order.
        const auto all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(ab, cd),
                                                     _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p), all);
    }

    // Integers. Pairs of byte products fit 16 bits for the operands scalar.h allows.
    static I32 zero_i32() { return _mm256_setzero_si256(); }
    static I32 dot_i8(I8 x, I8 y) { return dot_u8(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x)); }
    static I32 dot_u8(I8 x, I8 y) {
        return _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), _mm256_set1_epi16(1));
    }
    static I32 mad_u8(I32 acc, I8 x, I8 y, int16_t scale) {
        return mad_scaled(acc, x, y, _mm256_set1_epi16(scale));
    }
    static I32 mad_u8(I32 acc, I8 x, I8 y, int16_t low, int16_t high) {
        return mad_scaled(acc, x, y, _mm256_set_m128i(_mm_set1_epi16(high), _mm_set1_epi16(low)));
    }
    static I16 load_i16(const int16_t* p) { return load_i8(p); }
    static void store_i16(int16_t* p, I16 x) {
        _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(p), x);
    }
    static I16 widen_i8(const int8_t* p) { return _mm256_cvtepi8_epi16(load_128(p)); }
    static I16 widen_twice(uint64_t word) {
        const auto bytes = _mm_cvtsi64_si128(static_cast<long long>(word));
        return _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(bytes, bytes));
    }
    static I32 dot_i16(I16 a, I16 b) { return _mm256_madd_epi16(a, b); }
    static I32 add_i32(I32 a, I32 b) { return _mm256_add_epi32(a, b); }
    static I32 sub_i32(I32 a, I32 b) { return _mm256_sub_epi32(a, b); }
    template <int Bits>
    static I32 shift_left_i32(I32 a) {
        return _mm256_slli_epi32(a, Bits);
    }
    static F to_f(I32 a) { return _mm256_cvtepi32_ps(a); }
    static int32_t sum_i32(I32 a) {
        const auto four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
        const auto two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
    }

  private:
    static I32 mad_scaled(I32 acc, I8 x, I8 y, I16 scale) {
        return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), scale));
    }
    // All bits in the first n lanes.
    static __m256i first(size_t n) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                                  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static __m128i load_128(const void* p) {
        return _mm_loadu_si128(static_cast<const __m128i_u*>(p));
    }
    static __m128i load_words(const void* p, size_t n) {
        uint16_t words[8] = {};
        __builtin_memcpy(words, p, n * 2);
        return load_128(words);
    }
    static F widen_bf16(__m128i words) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
    }
};

}  // namespace minfer::cpu
