#pragma once
// A layer of filled cells, and attention over it with windows of every kind.

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "backend/metal/rig.h"
#include "support/kv_cells.h"
#include "support/random_data.h"
#include "support/reference.h"

namespace minfer::test {

using reference::Cells;
using Span = std::array<int32_t, 2>;               // cells [lo, hi)
using Runs = std::vector<std::array<int32_t, 2>>;  // (cell, length)

struct Geometry {
    size_t n_head = 4, n_head_kv = 2, head_dim = 64, n_ctx = 100;
    KvFormat format = KvFormat::F32;
    size_t width() const { return n_head * head_dim; }
    size_t kv_width() const { return n_head_kv * head_dim; }
    KvLayout layout() const { return kv_layout(format, kv_width()); }
    op::Attention op(bool explicit_span = true) const {
        return {.n_head = n_head,
                .n_head_kv = n_head_kv,
                .head_dim = head_dim,
                .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                .layout = layout(),
                .n_ctx = n_ctx,
                .explicit_span = explicit_span};
    }
};

// No family but the classic one.
inline MetalOptions classic_only() {
    return {.attention = {.flash = false,
                          .split = false,
                          .prefill_flash = false,
                          .three_pass = false,
                          .window_flash = false}};
}

inline std::vector<int32_t> span_input(const std::vector<Span>& spans) {
    auto data = std::vector<int32_t>();
    for (const auto& span : spans) data.push_back(span[0]);
    for (const auto& span : spans) data.push_back(span[1]);
    return data;
}

inline std::vector<int32_t> map_input(const std::vector<Runs>& tokens) {
    auto data = std::vector<int32_t>(kv_map_elements(tokens.size()));
    for (size_t t = 0; t < tokens.size(); ++t)
        for (size_t i = 0; i < tokens[t].size(); ++i)
            for (size_t j = 0; j < 2; ++j) data[t * 8 + i * 2 + j] = tokens[t][i][j];
    return data;
}

inline Cells range(int32_t lo, int32_t hi) {
    auto cells = Cells();
    for (int32_t c = lo; c < hi; ++c) cells.push_back(c);
    return cells;
}

// The cells that spans and runs name.
inline std::vector<Cells> cells_of(const std::vector<Span>& spans) {
    auto windows = std::vector<Cells>();
    for (const auto& [lo, hi] : spans) windows.push_back(range(lo, hi));
    return windows;
}
inline std::vector<Cells> cells_of(const std::vector<Runs>& tokens) {
    auto windows = std::vector<Cells>();
    for (const auto& runs : tokens) {
        auto& cells = windows.emplace_back();
        for (const auto& [first, length] : runs)
            for (int32_t c = first; c < first + length; ++c) cells.push_back(c);
    }
    return windows;
}

// A layer whose every cell is filled, on Metal or on the CPU; k and v are what the cells stand for.
struct Layer : KvCells {
    explicit Layer(OpRig& owner, Geometry geometry = {})
        : KvCells(owner, geometry.layout(), geometry.n_ctx), g(geometry) {}

    OpRig::Outcome run(const op::Attention& op, std::span<const float> q,
                       std::span<const int32_t> positions, std::span<const int32_t> window) {
        return rig.run(op, {g.width(), q.size() / g.width(), 1, 1},
                       {rig.floats(q), kv.k, rig.ints(positions), rig.ints(window)}, kv);
    }
    OpRig::Outcome windowed(std::span<const float> q, std::span<const int32_t> window) {
        return run(g.op(), q, std::vector<int32_t>(q.size() / g.width(), 0), window);
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
        return run(g.op(false), q, range(first, first + n_tokens), causal_spans(n_tokens, first));
    }
    static std::vector<int32_t> causal_spans(int32_t n_tokens, int32_t first) {
        auto windows = std::vector<Span>();
        for (int32_t t = 0; t < n_tokens; ++t) windows.push_back({0, first + t + 1});
        return span_input(windows);
    }
    reference::Values want(std::span<const float> q, const std::vector<Cells>& windows) const {
        return reference::attention(g.op(), reference::widened(q), k, v, windows);
    }
    reference::Values want_causal(std::span<const float> q, int32_t first) const {
        auto windows = std::vector<Cells>();
        for (size_t t = 0; t < q.size() / g.width(); ++t)
            windows.push_back(range(0, first + static_cast<int32_t>(t) + 1));
        return want(q, windows);
    }

    Geometry g;
};

}  // namespace minfer::test
