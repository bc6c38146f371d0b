#pragma once
// Reproducible weights without a quantiser: the bytes of a tensor's blocks are drawn directly, with
// scales that give the dequantised values a wanted size. The same name and type give the same bytes
// on every machine, so only results computed from them need to be stored.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace minfer {

// SplitMix64 over a counter that starts at the FNV-1a hash of a name.
class NamedRandom {
  public:
    explicit NamedRandom(std::string_view name);
    uint64_t next();
    // In [-1, 1), a multiple of 2^-23.
    float uniform() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.f; }

  private:
    uint64_t state_;
};

// Fills `bytes`, a whole number of blocks, with elements of about [-amplitude, amplitude].
// `type` is one that can be dequantised.
void fill_random(DType type, NamedRandom& random, float amplitude, std::span<std::byte> bytes);

}  // namespace minfer
