// The order in which a grid's threadgroups start: ascending, or a shuffle that a seed names. The
// shuffle is computed, not stored: a grid may have millions of threadgroups.
#pragma once

#include <cstdint>

namespace softmetal::exec {

class GroupOrder {
  public:
    GroupOrder(uint64_t count, uint64_t seed);  // seed 0: ascending

    // The position-th threadgroup to start; every one of [0, count) comes once.
    uint64_t at(uint64_t position) const;

    // A number that differs between threadgroups and seeds; 0 without a seed.
    uint32_t salt(uint64_t group) const;

  private:
    uint64_t shuffled(uint64_t value) const;

    uint64_t count_, seed_;
    uint32_t half_bits_ = 1;
};

}  // namespace softmetal::exec
