#pragma once
// A launch is a value: worked out by pure functions, one per kernel family, and tested without a
// device.

#include <cstddef>
#include <cstdint>

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

template <class T>
constexpr uint32_t ceil_div(T value, T step) {
    return static_cast<uint32_t>((value + step - 1) / step);
}

}  // namespace minfer::metal
