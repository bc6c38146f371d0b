#pragma once
// The window input of attention: which cells each token sees. The host writes it, so that it is
// checked once, before any kernel reads it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "graph/op.h"

namespace minfer {

enum class WindowKind : uint8_t {
    Span,  // attn_span: cells [data[t], data[n_tokens + t])
    Map,   // kv_map: up to kKvMapMaxSpans (cell, length) runs from data[t * 8] on, zero-padded
};

// The kinds are told apart by length alone; BadInput naming both lengths for any other.
Result<WindowKind> window_kind(size_t elements, size_t n_tokens);

// BadInput naming token and values unless every token sees at least one cell, all of them below
// n_ctx and no more than n_ctx in all.
Result<> check_windows(WindowKind kind, std::span<const int32_t> data, size_t n_tokens,
                       size_t n_ctx);

// Gives `take(first, end)` each run of cells [first, end) that a token sees, token by token, of
// windows that were checked.
template <class Take>
void for_runs(WindowKind kind, std::span<const int32_t> data, size_t n_tokens, Take take) {
    if (kind == WindowKind::Span) {
        for (size_t t = 0; t < n_tokens; ++t)
            take(static_cast<size_t>(data[t]), static_cast<size_t>(data[n_tokens + t]));
        return;
    }
    for (size_t i = 0; i < n_tokens * kKvMapMaxSpans; ++i) {
        const auto cell = static_cast<size_t>(data[2 * i]);
        const auto count = static_cast<size_t>(data[2 * i + 1]);
        if (count > 0) take(cell, cell + count);
    }
}

// The cells [first, end) outside of which no token sees any, of windows that were checked.
struct CellExtent {
    size_t first = 0, end = 0;
    bool operator==(const CellExtent&) const = default;
};
CellExtent window_extent(WindowKind kind, std::span<const int32_t> data, size_t n_tokens);

}  // namespace minfer
