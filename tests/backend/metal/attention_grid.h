#pragma once
// The grid that kernels for several tokens are held to: sizes of heads, kinds of cells, first cells
// and ends that lie beside those of tiles, at each the windows of every kind and windows that are
// wrong by one cell.

#include "backend/metal/attention_rig.h"
#include "backend/metal/cell_types.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {

struct Kind {
    size_t head_dim;
    metal::CellType cells;
};
constexpr Kind kKinds[] = {{64, metal::CellType::F32},       {64, metal::CellType::F16},
                           {64, metal::CellType::Q8_0Split}, {64, metal::CellType::Q8_0},
                           {128, metal::CellType::F32},      {128, metal::CellType::F16},
                           {128, metal::CellType::Q8_0Split}};

inline std::string kind_name(const testing::TestParamInfo<Kind>& info) {
    return fmt::format("Of{}_{}", info.param.head_dim, name(info.param.cells));
}
inline void PrintTo(const Kind& kind, std::ostream* out) {
    *out << name(kind.cells) << " cells, heads of " << kind.head_dim;
}

constexpr int32_t kFirstCells[] = {0, 64, 96};
constexpr int32_t kGaps[] = {0, 8};
// Whole blocks of 64 cells, and partial ones behind one block or more.
constexpr int32_t kCellCounts[] = {63, 64, 65, 72, 96, 98, 129, 197};
constexpr int32_t kManyTokens = 197;  // neither whole tiles of queries nor whole blocks of cells
constexpr int32_t kManyCells = 4097;

class MetalKind : public testing::TestWithParam<Kind> {
  protected:
    OpRig rig_ = metal_rig(with_cells(GetParam().cells));

    Layer layer(size_t n_ctx, size_t n_head = 2) {
        const auto format = format_of(GetParam().cells);
        return Layer(rig_, {n_head, 1, GetParam().head_dim, n_ctx, format});
    }
    static std::vector<float> queries(const Layer& layer, int32_t n_tokens, uint32_t seed = 61) {
        return random_floats(layer.g.width() * static_cast<size_t>(n_tokens), seed, 2);
    }
};

// Token t of n sees the cells [first, first + n_cells - n + t + 1).
inline std::vector<Span> growing_spans(int32_t first, int32_t n_tokens, int32_t n_cells) {
    auto spans = std::vector<Span>();
    for (int32_t t = 0; t < n_tokens; ++t)
        spans.push_back({first, first + n_cells - n_tokens + t + 1});
    return spans;
}
inline std::vector<Span> growing_spans(int32_t first, int32_t n_tokens) {
    return growing_spans(first, n_tokens, n_tokens);
}

// Token t sees `shared` cells from `first` on and, `gap` cells further, t + 1 of its own.
inline std::vector<Runs> growing_maps(int32_t first, int32_t shared, int32_t gap,
                                      int32_t n_tokens) {
    auto maps = std::vector<Runs>();
    for (int32_t t = 0; t < n_tokens; ++t)
        maps.push_back({{first, shared}, {first + shared + gap, t + 1}});
    return maps;
}

// `windows` holds one for each token and is what the layer's spans() or map() takes.
inline OpRig::Outcome attend(Layer& layer, std::span<const float> q,
                             const std::vector<Span>& windows) {
    return layer.spans(q, windows);
}
inline OpRig::Outcome attend(Layer& layer, std::span<const float> q,
                             const std::vector<Runs>& windows) {
    return layer.map(q, windows);
}
double error_of(Layer& layer, std::span<const float> q, const auto& windows) {
    const auto got = attend(layer, q, windows);
    EXPECT_EQ(got.error, "");
    return nmse(got.values, layer.want(q, cells_of(windows)));
}

// The V row of one cell for each token, as every query head of its KV head gets it.
inline std::vector<float> rows_of_v(const Layer& layer, std::span<const int32_t> cells) {
    const auto& g = layer.g;
    auto rows = std::vector<float>();
    for (const auto cell : cells)
        for (size_t h = 0; h < g.n_head; ++h) {
            const auto at = static_cast<size_t>(cell) * g.kv_width() +
                            h / (g.n_head / g.n_head_kv) * g.head_dim;
            rows.insert(rows.end(), &layer.v[at], &layer.v[at] + g.head_dim);
        }
    return rows;
}

// The right windows give the reference's answer, the wrong ones another: one cell among thousands
// is far above rounding.
void expect_windows(Layer& layer, std::span<const float> q, const auto& right, const auto& wrong) {
    const auto want = layer.want(q, cells_of(right));
    const auto got = attend(layer, q, right), other = attend(layer, q, wrong);
    EXPECT_EQ(got.error + other.error, "");
    EXPECT_LE(nmse(got.values, want), kAttentionBar);
    EXPECT_GT(nmse(other.values, want), 1e4 * kAttentionBar);
}

inline void expect_spans(Layer& layer, std::span<const float> q, int32_t first, int32_t n_cells) {
    SCOPED_TRACE(fmt::format("{} cells from {}", n_cells, first));
    const auto n_tokens = static_cast<int32_t>(q.size() / layer.g.width());
    const auto last = range(first + n_cells - n_tokens, first + n_cells);
    auto one_cell = std::vector<Span>();
    for (const auto cell : last) one_cell.push_back({cell, cell + 1});
    EXPECT_EQ(layer.spans(q, one_cell).values, rows_of_v(layer, last));
    expect_windows(layer, q, growing_spans(first, n_tokens, n_cells),
                   growing_spans(first + 1, n_tokens, n_cells));
}

// Wrong is the base of the shared run alone.
inline void expect_maps(Layer& layer, std::span<const float> q, int32_t first, int32_t n_cells,
                        int32_t gap) {
    SCOPED_TRACE(fmt::format("{} cells from {}, a gap of {}", n_cells, first, gap));
    const auto n_tokens = static_cast<int32_t>(q.size() / layer.g.width());
    const auto last = range(first + n_cells - n_tokens, first + n_cells);
    auto one_cell = std::vector<Runs>();
    for (const auto cell : last) one_cell.push_back({{cell, 1}});
    EXPECT_EQ(layer.map(q, one_cell).values, rows_of_v(layer, last));
    const auto right = growing_maps(first, n_cells - n_tokens, gap, n_tokens);
    auto wrong = right;
    for (auto& runs : wrong) ++runs[0].first;
    expect_windows(layer, q, right, wrong);
}

inline void expect_causal(Layer& layer, std::span<const float> q, int32_t n_cells) {
    SCOPED_TRACE(fmt::format("{} cells", n_cells));
    const auto first = n_cells - static_cast<int32_t>(q.size() / layer.g.width());
    const auto want = layer.want_causal(q, first);
    const auto got = layer.causal(q, first), other = layer.causal(q, first + 1);
    EXPECT_EQ(got.error + other.error, "");
    EXPECT_LE(nmse(got.values, want), kAttentionBar);
    EXPECT_GT(nmse(other.values, want), 1e4 * kAttentionBar);
}

}  // namespace minfer::test
