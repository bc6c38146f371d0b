#pragma once
// A layer of filled cells, and attention over it with windows of every kind.

#include <span>
#include <vector>

#include "backend/metal/rig.h"
#include "support/attention_cells.h"
#include "support/classic_attention.h"
#include "support/kv_cells.h"
#include "support/random_data.h"

namespace minfer::test {

inline MetalOptions classic_only() { return {.attention = kClassicAttention}; }

// A layer whose every cell is filled, on Metal or on the CPU; k and v are what the cells stand for.
struct Layer : KvCells {
    explicit Layer(OpRig& owner, Geometry geometry = {})
        : KvCells(owner, geometry.layout(), geometry.n_ctx), g(geometry) {}
    // With these keys and standard normal values.
    Layer(OpRig& owner, Geometry geometry, std::span<const float> k_rows)
        : KvCells(owner, geometry.layout(), k_rows, random_floats(k_rows.size(), 22)),
          g(geometry) {}

    OpRig::Outcome run(const op::Attention& op, std::span<const float> q,
                       std::span<const int32_t> positions, std::span<const int32_t> window) {
        return rig.run(op, {g.width(), q.size() / g.width(), 1, 1},
                       {rig.floats(q), kv.k, rig.ints(positions), rig.ints(window)}, kv);
    }
    OpRig::Outcome windowed(std::span<const float> q, std::span<const int32_t> window) {
        return run(g.op(true), q, std::vector<int32_t>(q.size() / g.width(), 0), window);
    }
    OpRig::Outcome spans(std::span<const float> q, const std::vector<Span>& windows) {
        return windowed(q, span_input(windows));
    }
    OpRig::Outcome map(std::span<const float> q, const std::vector<Runs>& windows) {
        return windowed(q, map_input(windows));
    }
    // Tokens at consecutive positions from `first` on.
    OpRig::Outcome causal(std::span<const float> q, int32_t first) {
        const auto n_tokens = static_cast<int32_t>(q.size() / g.width());
        return run(g.op(false), q, range(first, first + n_tokens),
                   span_input(causal_spans(n_tokens, first)));
    }
    reference::Values want(std::span<const float> q, const std::vector<Cells>& windows) const {
        return reference::attention(g.op(true), reference::widened(q), k, v, windows);
    }
    reference::Values want_causal(std::span<const float> q, int32_t first) const {
        const auto n_tokens = static_cast<int32_t>(q.size() / g.width());
        return want(q, cells_of(causal_spans(n_tokens, first)));
    }

    Geometry g;
};

}  // namespace minfer::test
