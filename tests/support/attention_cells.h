#pragma once
// Shapes of attention, and which cells each token sees: as the window inputs list them, and as the
// reference takes them.

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/op.h"
#include "support/reference.h"

namespace minfer::test {

struct Geometry {
    size_t n_head = 4, n_head_kv = 2, head_dim = 64, n_ctx = 100;
    KvFormat format = KvFormat::F32;

    size_t width() const { return n_head * head_dim; }
    size_t kv_width() const { return n_head_kv * head_dim; }
    KvLayout layout() const { return kv_layout(format, kv_width()); }
    op::Attention op(bool explicit_span) const {
        return {.n_head = n_head,
                .n_head_kv = n_head_kv,
                .head_dim = head_dim,
                .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                .layout = layout(),
                .n_ctx = n_ctx,
                .explicit_span = explicit_span};
    }
};

using reference::Cells;
using Span = std::array<int32_t, 2>;  // cells [lo, hi)
struct Run {                          // cells [first, first + length)
    int32_t first = 0, length = 0;
};
using Runs = std::vector<Run>;

// The window input of so many tokens, a span for each.
inline std::vector<int32_t> span_input(const std::vector<Span>& spans) {
    auto data = std::vector<int32_t>();
    for (const auto& span : spans) data.push_back(span[0]);
    for (const auto& span : spans) data.push_back(span[1]);
    return data;
}

// The same, up to kKvMapMaxSpans runs for each.
inline std::vector<int32_t> map_input(const std::vector<Runs>& tokens) {
    auto data = std::vector<int32_t>(kv_map_elements(tokens.size()));
    for (size_t t = 0; t < tokens.size(); ++t)
        for (size_t i = 0; i < tokens[t].size(); ++i) {
            data[(t * kKvMapMaxSpans + i) * 2] = tokens[t][i].first;
            data[(t * kKvMapMaxSpans + i) * 2 + 1] = tokens[t][i].length;
        }
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

// Tokens at consecutive positions from `first` on: each sees all cells up to its own.
inline std::vector<Span> causal_spans(int32_t n_tokens, int32_t first) {
    auto spans = std::vector<Span>();
    for (int32_t t = 0; t < n_tokens; ++t) spans.push_back({0, first + t + 1});
    return spans;
}

}  // namespace minfer::test
