// numeric_limits for every scalar type.
#pragma once

namespace metal {

enum float_round_style {
    round_indeterminate = -1,
    round_toward_zero = 0,
    round_to_nearest = 1,
    round_toward_infinity = 2,
    round_toward_neg_infinity = 3
};

template <class T>
struct numeric_limits {
    static constexpr bool is_specialized = false;
};

namespace sm {
template <class T>
struct int_limits {
    static constexpr bool is_specialized = true, is_integer = true, is_exact = true;
    static constexpr bool is_signed = T(-1) < T(0);
    static constexpr bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false;
    static constexpr bool is_iec559 = false, is_bounded = true;
    static constexpr bool is_modulo = !is_signed, traps = false;
    static constexpr float_round_style round_style = round_toward_zero;
    static constexpr int radix = 2;
    static constexpr int digits =
        __is_same(T, bool) ? 1 : static_cast<int>(sizeof(T) * 8) - (is_signed ? 1 : 0);
    static constexpr int digits10 = digits * 30103 / 100000;
    static constexpr int max_digits10 = 0;
    static constexpr int min_exponent = 0, min_exponent10 = 0;
    static constexpr int max_exponent = 0, max_exponent10 = 0;

    static constexpr T max() noexcept {
        return __is_same(T, bool) ? T(1) : T((((1ul << (digits - 1)) - 1) << 1) + 1);
    }
    static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
    static constexpr T lowest() noexcept { return min(); }
    static constexpr T epsilon() noexcept { return T(0); }
    static constexpr T round_error() noexcept { return T(0); }
    static constexpr T infinity() noexcept { return T(0); }
    static constexpr T quiet_NaN() noexcept { return T(0); }
    static constexpr T signaling_NaN() noexcept { return T(0); }
    static constexpr T denorm_min() noexcept { return T(0); }
};

// Bits are the patterns of 1 ulp at 1, of the smallest normal and of the largest finite number.
template <class T, int Digits, unsigned Epsilon, unsigned Min, unsigned Max, unsigned Inf>
struct float_limits {
    static constexpr bool is_specialized = true, is_integer = false, is_exact = false;
    static constexpr bool is_signed = true;
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
    static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false, traps = false;
    static constexpr float_round_style round_style = round_to_nearest;
    static constexpr int radix = 2, digits = Digits;
    static constexpr int digits10 = (Digits - 1) * 30103 / 100000;
    static constexpr int max_digits10 = 2 + Digits * 30103 / 100000;

    static constexpr T bits(unsigned b) { return __builtin_bit_cast(T, unsigned_bits<T>(b)); }
    static constexpr T max() noexcept { return bits(Max); }
    static constexpr T min() noexcept { return bits(Min); }
    static constexpr T lowest() noexcept { return -bits(Max); }
    static constexpr T epsilon() noexcept { return bits(Epsilon); }
    static constexpr T round_error() noexcept { return T(0.5f); }
    static constexpr T infinity() noexcept { return bits(Inf); }
    static constexpr T quiet_NaN() noexcept { return bits(Inf | Min >> 1); }
    static constexpr T signaling_NaN() noexcept { return bits(Inf | 1); }
    static constexpr T denorm_min() noexcept { return bits(1); }
};
}  // namespace sm

#define SM_INT_LIMITS(T) \
    template <>          \
    struct numeric_limits<T> : sm::int_limits<T> {};
SM_INT_LIMITS(bool)
SM_INT_LIMITS(char)
SM_INT_LIMITS(signed char)
SM_INT_LIMITS(unsigned char)
SM_INT_LIMITS(short)
SM_INT_LIMITS(unsigned short)
SM_INT_LIMITS(int)
SM_INT_LIMITS(unsigned int)
SM_INT_LIMITS(long)
SM_INT_LIMITS(unsigned long)
SM_INT_LIMITS(long long)
SM_INT_LIMITS(unsigned long long)
#undef SM_INT_LIMITS

template <>
struct numeric_limits<float>
    : sm::float_limits<float, 24, 0x34000000, 0x00800000, 0x7f7fffff, 0x7f800000> {
    static constexpr int min_exponent = -125, min_exponent10 = -37;
    static constexpr int max_exponent = 128, max_exponent10 = 38;
};
template <>
struct numeric_limits<half> : sm::float_limits<half, 11, 0x1400, 0x0400, 0x7bff, 0x7c00> {
    static constexpr int min_exponent = -13, min_exponent10 = -4;
    static constexpr int max_exponent = 16, max_exponent10 = 4;
};
template <>
struct numeric_limits<bfloat> : sm::float_limits<bfloat, 8, 0x3c00, 0x0080, 0x7f7f, 0x7f80> {
    static constexpr int min_exponent = -125, min_exponent10 = -37;
    static constexpr int max_exponent = 128, max_exponent10 = 38;
};

template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};
template <class T>
struct numeric_limits<volatile T> : numeric_limits<T> {};
template <class T>
struct numeric_limits<const volatile T> : numeric_limits<T> {};

}  // namespace metal
