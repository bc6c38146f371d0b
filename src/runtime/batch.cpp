#include "runtime/batch.h"

#include <algorithm>

namespace minfer {

void BatchInputs::fill(const KvStore& store, std::span<const BatchPart> parts, size_t n_out) {
    ids.clear();
    positions.clear();
    cells.clear();
    tail.clear();
    explicit_span = parts.size() > 1;
    kv_map = false;
    for (const auto& [seq, tokens] : parts) {
        const auto written = store.find(seq)->written;
        for (size_t i = 0; i < tokens.size(); ++i) {
            ids.push_back(static_cast<int32_t>(tokens[i]));
            positions.push_back(static_cast<int32_t>(written + i));
            cells.push_back(static_cast<int32_t>(store.cell(seq, written + i)));
        }
        const auto rows = parts.size() == 1 ? n_out : 1;
        for (auto row = ids.size() - rows; row < ids.size(); ++row)
            tail.push_back(static_cast<int32_t>(row));
        store.runs(seq, written + tokens.size(), runs_);
        explicit_span = explicit_span || runs_.front().cell > 0 || runs_.size() > 1;
        kv_map = kv_map || runs_.size() > 1;
    }
    fill_window(store, parts);
}

void BatchInputs::fill_window(const KvStore& store, std::span<const BatchPart> parts) {
    const auto n_tokens = ids.size();
    window.assign(kv_map ? kv_map_elements(n_tokens) : attn_span_elements(n_tokens), 0);
    size_t t = 0;
    for (const auto& [seq, tokens] : parts) {
        const auto written = store.find(seq)->written;
        store.runs(seq, written + tokens.size(), runs_);
        for (size_t i = 0; i < tokens.size(); ++i, ++t) {
            auto visible = written + i + 1;  // earlier positions and its own
            if (!kv_map) {
                window[t] = static_cast<int32_t>(runs_.front().cell);
                window[n_tokens + t] = static_cast<int32_t>(runs_.front().cell + visible);
                continue;
            }
            auto* run = window.data() + t * kKvMapMaxSpans * 2;
            for (const auto& [cell, rows] : runs_) {
                const auto seen = std::min(rows, visible);
                if (seen == 0) break;
                *run++ = static_cast<int32_t>(cell);
                *run++ = static_cast<int32_t>(seen);
                visible -= seen;
            }
        }
    }
}

}  // namespace minfer
