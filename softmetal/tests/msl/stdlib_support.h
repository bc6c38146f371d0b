// Numbers to try functions of the stand-in library on, and how far results may lie from a
// reference.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "softmetal/tests/msl/kernel_runner.h"

namespace softmetal::msl::test {

// Compiled once, unchecked: these tests look at results, and checked kernels have their own.
inline CompileOptions unchecked() {
    CompileOptions options;
    options.checked = false;
    return options;
}

// Memory aligned for any vector type.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    static constexpr auto kAlignment = std::align_val_t{64};
    AlignedAllocator() = default;
    template <class U>
    explicit AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
    void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
    bool operator==(const AlignedAllocator&) const = default;
};
template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }

// Both zeros, subnormals, the ends of every range, infinities, NaNs, and numbers near which
// functions change what they do.
inline std::vector<float> special_floats() {
    std::vector<float> out;
    for (const uint32_t bits :
         {0x00000000u, 0x00000001u, 0x00000002u, 0x007fffffu, 0x00800000u, 0x00800001u, 0x33800000u,
          0x34000000u, 0x3effffffu, 0x3f000000u, 0x3f000001u, 0x3f7fffffu, 0x3f800000u, 0x3f800001u,
          0x3fc00000u, 0x40000000u, 0x40200000u, 0x40400000u, 0x40490fdbu, 0x3fc90fdbu, 0x42b17218u,
          0x42b17217u, 0x4b000000u, 0x4b000001u, 0x4b7fffffu, 0x4b800000u, 0x47800000u, 0x47800001u,
          0x5f000000u, 0x7effffffu, 0x7f7fffffu, 0x7f800000u, 0x7f800001u, 0x7fc00000u}) {
        out.push_back(as_float(bits));
        out.push_back(as_float(bits | 0x80000000u));
    }
    return out;
}

// Floats of every exponent, many near 1 and in the ranges where functions do their work.
inline std::vector<float> sweep() {
    auto out = special_floats();
    for (uint64_t bits = 0; bits < (1ull << 32); bits += 6997)
        out.push_back(as_float(uint32_t(bits)));
    std::mt19937 random(1);
    for (const float reach : {1.0f, 2.0f, 10.0f, 120.0f, 1000.0f, 70000.0f}) {
        std::uniform_real_distribution<float> in_reach(-reach, reach);
        for (int i = 0; i < 50000; ++i) out.push_back(in_reach(random));
    }
    return out;
}

// The distance from `got` to the exact `want` in units of the last place `want` would have in a
// format of `digits` bits and smallest normal exponent `low`.
inline double ulps(double got, double want, int digits, int low) {
    int exponent = 0;
    std::frexp(want, &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent, low) - digits);
    return std::fabs(got - want) / unit;
}

// 0 when equal or both NaN, infinite when they differ in kind or in the sign of a zero.
inline double float_error(float got, double want) {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    if (std::isnan(want)) return std::isnan(got) ? 0 : kFar;
    if (std::isnan(got)) return kFar;
    const auto rounded = static_cast<float>(want);
    if (std::isinf(rounded) || std::isinf(got)) {
        if (rounded == got) return 0;
        // At the edge of the range an error of an ulp may round either way.
        return std::fabs(want) < 0x1p128 * (1 + 0x1p-22) &&
                       std::fabs(want) > 0x1p128 * (1 - 0x1p-22)
                   ? 1
                   : kFar;
    }
    if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : kFar;
    return ulps(got, want, 24, -125);
}

// The same bits, or both NaN.
inline bool same_value(float a, float b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// The 16-bit formats, as the host sees them.
struct Half {
    static constexpr int kDigits = 11, kLow = -13, kOne = 0x3c00;
    static constexpr double kOverflow = 65520;
    static double value(uint16_t bits) {
        return static_cast<double>(std::bit_cast<_Float16>(bits));
    }
};
struct Bfloat {
    static constexpr int kDigits = 8, kLow = -125, kOne = 0x3f80;
    static constexpr double kOverflow = 0x1.ffp127;
    static double value(uint16_t bits) { return as_float(uint32_t(bits) << 16); }
};
template <class Format>
double small_error(uint16_t got_bits, double want) {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    const double got = Format::value(got_bits);
    if (std::isnan(want)) return std::isnan(got) ? 0 : kFar;
    if (std::isnan(got)) return kFar;
    if (std::isinf(got) || std::fabs(want) >= Format::kOverflow) {
        const bool at_edge = std::fabs(std::fabs(want) / Format::kOverflow - 1) < 1e-6;
        const bool is_infinite = std::isinf(got) && std::signbit(got) == std::signbit(want) &&
                                 std::fabs(want) >= Format::kOverflow;
        return is_infinite || at_edge ? 0 : kFar;
    }
    if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : kFar;
    return ulps(got, want, Format::kDigits, Format::kLow);
}

inline std::string show(float x) {
    char text[64];
    std::snprintf(text, sizeof text, "%a (%g)", static_cast<double>(x), static_cast<double>(x));
    return text;
}

}  // namespace softmetal::msl::test
