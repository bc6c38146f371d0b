#pragma once
// Cosines and sines of rotary positions. Every layer of a step asks for the same ones, so they are
// kept until the positions change.

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "graph/op.h"

namespace minfer::cpu {

class RopeTable {
  public:
    struct Angles {
        const float* cosine;  // [positions, head_dim / 2]
        const float* sine;
    };

    // For angle position * inv_freq[i] as an f32 product. Valid until the next call.
    Angles angles(const op::Rope& rope, std::span<const int32_t> positions, ThreadPool& threads);

  private:
    struct Entry {
        float freq_base = 0, freq_scale = 0;
        size_t head_dim = 0;
        std::vector<float> inv_freq;
        std::vector<int32_t> positions;  // what cosine and sine hold
        std::vector<float> cosine, sine;
    };
    Entry& entry(const op::Rope& rope);

    std::vector<Entry> entries_;  // one per kind of rotation a model uses: one or two
};

}  // namespace minfer::cpu
