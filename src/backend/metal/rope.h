#pragma once
// Rotary position embedding.

#include <vector>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"
#include "graph/op.h"

namespace minfer::metal {

struct Context;

struct RopeKernels {
    Pipeline half_split, interleaved;
    static Result<RopeKernels> build(const Device& device);
    const Pipeline& of(op::RopeStyle style) const {
        return style == op::RopeStyle::Interleaved ? interleaved : half_split;
    }
};

// rope_inv_freq() on the device, one buffer for each kind of rotation a model uses: one or two.
class InvFreq {
  public:
    // Made the first time a node asks, when a model first runs: only nodes tell the rotation. It is
    // a buffer of the pool that is never given back, and so charged to the budget as any other;
    // OutOfMemory when that is spent.
    Result<Slice> of(Context& context, const op::Rope& rope);

  private:
    struct Entry {
        float freq_base = 0, freq_scale = 0;
        size_t head_dim = 0;
        Slice slice;
    };
    std::vector<Entry> entries_;
};

// Heads that share the sines and cosines of one thread: all threads are needed for few tokens.
uint32_t rope_heads_per_thread(size_t n_tokens);
// Threads of four pairs and rope_heads_per_thread() heads.
Result<Launch> plan_rope(size_t n_tokens, size_t n_head, size_t head_dim);

// x and out: [n_tokens][n_head][head_dim], the same or apart; positions: int32[n_tokens].
Result<> rotate(Context& context, const op::Rope& rope, const Slice& x, const Slice& positions,
                const Slice& out, size_t n_tokens);

}  // namespace minfer::metal
