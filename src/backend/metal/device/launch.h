#pragma once
// A launch is a value: worked out by pure functions, one per kernel family, and tested without a
// device.

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace minfer::metal {

struct Size3 {
    uint32_t x = 1, y = 1, z = 1;
    bool operator==(const Size3&) const = default;
    uint64_t count() const { return uint64_t{x} * y * z; }
};

struct Launch {
    Size3 groups, threads;      // threadgroups, and threads of each
    uint32_t shared_bytes = 0;  // threadgroup memory at index 0; a multiple of 16
    bool operator==(const Launch&) const = default;
};

constexpr uint32_t kSimdWidth = 32;  // on every Apple GPU

// Kernels count in 32 bits, and on past the end by less than a threadgroup of 256 threads with four
// elements each.
constexpr size_t kCountLimit = UINT32_MAX - 1023;

// Unsupported naming `what`, its value and the limit: a number never loses digits on its way to a
// kernel or a grid.
inline Result<> check_u32(std::string_view what, size_t value) {
    if (value <= kCountLimit) return {};
    return fail(Fault::Unsupported, "{}: {} is more than kernels count to ({})", what, value,
                kCountLimit);
}
inline Result<uint32_t> to_u32(std::string_view what, size_t value) {
    MINFER_TRY(check_u32(what, value));
    return static_cast<uint32_t>(value);
}

template <class T>
constexpr T ceil_div(T value, T step) {
    return value / step + (value % step != 0);
}

// Threads of a threadgroup that goes along a row: whole SIMD groups, as many as `needed` threads
// fill, `most` of them.
constexpr uint32_t threads_of_row(uint32_t needed, uint32_t most) {
    const auto filled = ceil_div(needed, kSimdWidth) * kSimdWidth;
    return filled < most ? filled : most;
}

}  // namespace minfer::metal
