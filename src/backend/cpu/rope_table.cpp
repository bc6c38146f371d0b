#include "backend/cpu/rope_table.h"

#include <algorithm>
#include <cmath>

namespace minfer::cpu {

RopeTable::Entry& RopeTable::entry(const op::Rope& rope) {
    for (auto& known : entries_)
        if (known.freq_base == rope.freq_base && known.freq_scale == rope.freq_scale &&
            known.head_dim == rope.head_dim)
            return known;
    entries_.push_back({.freq_base = rope.freq_base,
                        .freq_scale = rope.freq_scale,
                        .head_dim = rope.head_dim,
                        .inv_freq = rope_inv_freq(rope)});
    return entries_.back();
}

RopeTable::Angles RopeTable::angles(const op::Rope& rope, std::span<const int32_t> positions,
                                    ThreadPool& threads) {
    auto& known = entry(rope);
    if (!std::ranges::equal(known.positions, positions)) {
        const auto half = known.inv_freq.size();
        known.positions.assign(positions.begin(), positions.end());
        // Both keep their capacity when they shrink.
        known.cosine.resize(positions.size() * half);
        known.sine.resize(positions.size() * half);
        threads.parallel_for(positions.size(), 16, [&](size_t begin, size_t end, int) {
            for (size_t t = begin; t < end; ++t) {
                for (size_t i = 0; i < half; ++i) {
                    // Rounded once: the f32 functions of a libm are not the same everywhere.
                    const float angle = static_cast<float>(positions[t]) * known.inv_freq[i];
                    known.cosine[t * half + i] = static_cast<float>(std::cos(double{angle}));
                    known.sine[t * half + i] = static_cast<float>(std::sin(double{angle}));
                }
            }
        });
    }
    return {known.cosine.data(), known.sine.data()};
}

}  // namespace minfer::cpu
