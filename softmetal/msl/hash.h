// A 64-bit hash for checksums and cache keys: FNV-1a over 8-byte words, then mixed. Guards against
// accidents, not against attackers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace softmetal::msl {

inline uint64_t hash(std::string_view bytes, uint64_t seed = 0) {
    uint64_t h = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u) ^ bytes.size();
    const auto mix = [&](uint64_t word) {
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 32;
    };
    size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + at, 8);
        mix(word);
    }
    uint64_t last = 0;
    std::memcpy(&last, bytes.data() + at, bytes.size() - at);
    mix(last);
    return h * 0x9e3779b97f4a7c15u ^ h >> 29;
}

inline std::string hex(uint64_t value) {
    std::string out(16, '0');
    for (int i = 15; i >= 0; --i, value >>= 4)
        out[static_cast<size_t>(i)] = "0123456789abcdef"[value & 15];
    return out;
}

}  // namespace softmetal::msl
