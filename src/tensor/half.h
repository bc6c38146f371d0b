#pragma once
// 16-bit floats as the files store them: IEEE half and bfloat16, to and from f32, in integer
// arithmetic so that the result depends on no instruction set and no rounding or denormal mode.

#include <bit>
#include <cstdint>

namespace minfer {

// Exact: every half is a float. NaN keeps its payload and becomes quiet.
constexpr float f16_to_f32(uint16_t half) {
    const uint32_t sign = uint32_t{half & 0x8000u} << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu;
    const uint32_t fraction = half & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: fraction units of 2^-24, a normal float
        const auto magnitude = std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
        return std::bit_cast<float>(sign | magnitude);
    }
    if (exponent == 31) {
        const uint32_t quiet = fraction != 0 ? 0x400000u : 0u;
        return std::bit_cast<float>(sign | 0x7f800000u | quiet | (fraction << 13));
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

// Rounds to nearest even; overflow is infinity; NaN keeps the top of its payload and becomes quiet.
constexpr uint16_t f32_to_f16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    const auto result = [&]() -> uint32_t {
        if (magnitude > 0x7f800000u) return 0x7e00u | ((magnitude >> 13) & 0x3ffu);
        if (magnitude >= 0x477ff000u) return 0x7c00u;  // 65520 and up round past 65504
        if (magnitude >= 0x38800000u) {                // 2^-14 and up: a normal half
            const uint32_t even = 0xfffu + ((magnitude >> 13) & 1u);
            return (magnitude - 0x38000000u + even) >> 13;
        }
        if (magnitude < 0x33000000u) return 0;  // below 2^-25: less than half the smallest
        // Subnormal: the value in units of 2^-24, what is shifted out decides the rounding.
        const uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
        const uint32_t shift = 126 - (magnitude >> 23);  // 14 … 24
        const uint32_t kept = fraction >> shift;
        const uint32_t rest = fraction & ((1u << shift) - 1);
        const uint32_t half_unit = 1u << (shift - 1);
        return kept + (rest > half_unit || (rest == half_unit && (kept & 1u)) ? 1u : 0u);
    }();
    return static_cast<uint16_t>(sign | result);
}

// Exact: the upper half of a float.
constexpr float bf16_to_f32(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

// Rounds to nearest even; NaN stays NaN with the quiet bit set.
constexpr uint16_t f32_to_bf16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace minfer
