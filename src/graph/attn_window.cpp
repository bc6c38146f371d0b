#include "graph/attn_window.h"

#include <algorithm>

namespace minfer {
namespace {

Result<> check_spans(std::span<const int32_t> data, size_t n_tokens, size_t n_ctx) {
    for (size_t t = 0; t < n_tokens; ++t) {
        const int64_t lo = data[t], hi = data[n_tokens + t];
        if (lo < 0 || lo >= hi || hi > static_cast<int64_t>(n_ctx))
            return fail(Fault::BadInput,
                        "window of token {} is cells [{}, {}), which must not be empty and lie in "
                        "[0, {})",
                        t, lo, hi, n_ctx);
    }
    return {};
}

Result<> check_runs(std::span<const int32_t> data, size_t n_tokens, size_t n_ctx) {
    const auto limit = static_cast<int64_t>(n_ctx);
    for (size_t t = 0; t < n_tokens; ++t) {
        int64_t total = 0;
        bool ended = false;
        for (size_t i = 0; i < kKvMapMaxSpans; ++i) {
            const int64_t cell = data[(t * kKvMapMaxSpans + i) * 2];
            const int64_t count = data[(t * kKvMapMaxSpans + i) * 2 + 1];
            if (cell < 0 || count < 0 || cell + count > limit || (ended && count != 0))
                return fail(
                    Fault::BadInput,
                    "run {} of the window of token {} is {} cells from cell {}, the arena has {}{}",
                    i, t, count, cell, n_ctx, ended ? " and an empty run ends the window" : "");
            ended = ended || count == 0;
            total += count;
        }
        if (total == 0 || total > limit)
            return fail(Fault::BadInput, "window of token {} has {} cells, 1 to {} are allowed", t,
                        total, n_ctx);
    }
    return {};
}

}  // namespace

Result<WindowKind> window_kind(size_t elements, size_t n_tokens) {
    if (elements == attn_span_elements(n_tokens)) return WindowKind::Span;
    if (elements == kv_map_elements(n_tokens)) return WindowKind::Map;
    return fail(Fault::BadInput,
                "window input has {} elements; for {} tokens {} (spans) or {} (runs) are allowed",
                elements, n_tokens, attn_span_elements(n_tokens), kv_map_elements(n_tokens));
}

Result<> check_windows(WindowKind kind, std::span<const int32_t> data, size_t n_tokens,
                       size_t n_ctx) {
    return kind == WindowKind::Map ? check_runs(data, n_tokens, n_ctx)
                                   : check_spans(data, n_tokens, n_ctx);
}

CellExtent window_extent(WindowKind kind, std::span<const int32_t> data, size_t n_tokens) {
    auto extent = CellExtent{.first = SIZE_MAX, .end = 0};
    for_runs(kind, data, n_tokens, [&](size_t first, size_t end) {
        extent.first = std::min(extent.first, first);
        extent.end = std::max(extent.end, end);
    });
    return extent;
}

}  // namespace minfer
