#pragma once
// Small sums of the quantisers: rounding that is the same on every machine and never converts a
// float that does not fit.

#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor/half.h"

namespace minfer {

// Nearest integer in [low, high], ties to even; NaN becomes low. |low|, |high| < 2^22: adding
// 1.5 * 2^23 leaves the integer in the low bits of the float.
inline int round_even(float value, int low, int high) {
    const auto bottom = static_cast<float>(low), top = static_cast<float>(high);
    const float held = !(value > bottom) ? bottom : value > top ? top : value;
    return static_cast<int>(std::bit_cast<uint32_t>(held + 12582912.f) & 0x7fffffu) - 0x400000;
}

// Drops the fraction of `value`, held to [0, high]; NaN becomes 0.
inline int truncate(float value, int high) {
    if (!(value > 0)) return 0;
    return value >= static_cast<float>(high) ? high : static_cast<int>(value);
}

struct Peak {
    float value = 0, magnitude = 0;
};

// The value of largest magnitude, the first of equals. The magnitude is carried along because
// clang 19.1 takes fabs(fabs(x) > 0 ? x : 0) for x, which is what the first turn of a loop with
// `if (fabs(x) > fabs(peak)) peak = x` becomes when it is unrolled.
inline Peak find_peak(const float* in, int count) {
    Peak peak;
    for (int i = 0; i < count; ++i) {
        const float magnitude = std::fabs(in[i]);
        if (magnitude > peak.magnitude) peak = {in[i], magnitude};
    }
    return peak;
}

// 1 / value, or 0 where that is not a number one can multiply with.
inline float inverse_or_zero(float value) {
    const float inverse = value != 0 ? 1 / value : 0;
    return std::isfinite(inverse) ? inverse : 0;
}

constexpr bool is_finite_half(uint16_t half) { return (half & 0x7c00u) != 0x7c00u; }

}  // namespace minfer
