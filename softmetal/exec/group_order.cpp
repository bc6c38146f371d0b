#include "softmetal/exec/group_order.h"

namespace softmetal::exec {
namespace {

uint64_t mix(uint64_t value) {  // splitmix64's finaliser
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

}  // namespace

GroupOrder::GroupOrder(uint64_t count, uint64_t seed) : count_(count), seed_(seed) {
    while (half_bits_ < 31 && (uint64_t{1} << 2 * half_bits_) < count) ++half_bits_;
}

uint64_t GroupOrder::at(uint64_t position) const {
    if (seed_ == 0) return position;
    // The network permutes a power of four that is at least count; walking until the value is
    // small enough gives a permutation of [0, count).
    do position = shuffled(position);
    while (position >= count_);
    return position;
}

uint64_t GroupOrder::shuffled(uint64_t value) const {  // a Feistel network of four rounds
    const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
    uint64_t left = value >> half_bits_, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
        const uint64_t next = left ^ (mix(right + seed_ * 0x9e3779b97f4a7c15u + round) & mask);
        left = right;
        right = next;
    }
    return left << half_bits_ | right;
}

uint32_t GroupOrder::salt(uint64_t group) const {
    return seed_ == 0 ? 0 : static_cast<uint32_t>(mix(group + mix(seed_)));
}

}  // namespace softmetal::exec
