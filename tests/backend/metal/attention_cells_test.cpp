// Classic attention over cells of every type, against double loops over the cells as stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention_rig.h"
#include "backend/metal/cell_types.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::CellType;

constexpr size_t kCells = 70;

OpRig classic_rig(CellType type) { return metal_rig(with_cells(type, classic_only())); }

Geometry geometry(CellType type, size_t n_head, size_t n_head_kv, size_t head_dim) {
    return {n_head, n_head_kv, head_dim, kCells, format_of(type)};
}

std::vector<Geometry> geometries(CellType type) {
    return {geometry(type, 4, 2, 64), geometry(type, 14, 2, 64), geometry(type, 3, 3, 128),
            geometry(type, 2, 1, 32), geometry(type, 6, 3, 96),  geometry(type, 2, 1, 256),
            geometry(type, 4, 4, 8)};
}

const auto kSpans = std::vector<Span>{{0, 1}, {69, 70}, {5, 37}, {1, 34}, {0, 70}};
const auto kRuns = std::vector<Runs>{
    {{37, 1}}, {{40, 20}, {0, 7}}, {{50, 3}, {1, 1}, {60, 10}, {20, 29}}, {{0, 32}, {32, 32}}};

std::vector<float> queries(const Geometry& g, size_t n_tokens, uint32_t seed) {
    return random_floats(n_tokens * g.width(), seed, 2);
}

class MetalAttentionCells : public testing::TestWithParam<CellType> {};
INSTANTIATE_TEST_SUITE_P(Cells, MetalAttentionCells, testing::ValuesIn(metal::kCellTypes),
                         [](const auto& info) { return std::string(metal::name(info.param)); });

TEST_P(MetalAttentionCells, EveryWindowMatchesDoubleLoopsOverTheCellsAsStored) {
    auto rig = classic_rig(GetParam());
    for (const auto& g : geometries(GetParam())) {
        auto layer = Layer(rig, g);
        const auto expect = [&](const OpRig::Outcome& got, const reference::Values& want) {
            EXPECT_EQ(got.error, "");
            EXPECT_LE(nmse(got.values, want), kAttentionBar)
                << g.n_head << " heads of " << g.head_dim;
        };
        const auto causal = queries(g, 7, 23), spans = queries(g, kSpans.size(), 24),
                   runs = queries(g, kRuns.size(), 25);
        expect(layer.causal(causal, 63), layer.want_causal(causal, 63));
        expect(layer.causal(std::span(causal).first(g.width()), 69),
               layer.want_causal(std::span(causal).first(g.width()), 69));
        expect(layer.spans(spans, kSpans), layer.want(spans, cells_of(kSpans)));
        expect(layer.map(runs, kRuns), layer.want(runs, cells_of(kRuns)));
    }
}

TEST_P(MetalAttentionCells, AWindowOfOneCellGivesItsValuesBitForBit) {
    auto rig = classic_rig(GetParam());
    const auto g = geometry(GetParam(), 2, 1, 96);
    auto layer = Layer(rig, g);
    const auto q = queries(g, 1, 26);
    for (const int32_t cell : {0, 37, 69}) {
        const auto* const row = &layer.v[static_cast<size_t>(cell) * 96];
        auto want = std::vector<float>(row, row + 96);
        want.insert(want.end(), row, row + 96);
        EXPECT_EQ(layer.spans(q, {{cell, cell + 1}}).values, want);
        EXPECT_EQ(layer.map(q, {{{cell, 1}}}).values, want);
    }
}

// A score that is no number is no zero, and shows in its own head and token alone.
TEST_P(MetalAttentionCells, AScoreThatIsNoNumberGivesNaN) {
    auto rig = classic_rig(GetParam());
    const auto g = geometry(GetParam(), 2, 2, 64);
    auto layer = Layer(rig, g);
    auto q = queries(g, 2, 27);
    const auto windows = std::vector<Span>{{0, 3}, {40, 43}};
    const auto clean = layer.spans(q, windows).values;
    EXPECT_THAT(clean, testing::Each(testing::Truly([](float x) { return std::isfinite(x); })));
    q[128 + 64 + 5] = NAN;
    const auto got = layer.spans(q, windows).values;
    for (size_t i = 0; i < got.size(); ++i) {
        if (i >= 128 + 64)
            EXPECT_TRUE(std::isnan(got[i])) << i << " is " << got[i];
        else
            EXPECT_EQ(got[i], clean[i]) << i;
    }
}

// Quants before scales are the same cells.
TEST(MetalAttentionCellOrders, BothOrdersOfQ8_0GiveTheSameBits) {
    auto blocks = classic_rig(CellType::Q8_0), split = classic_rig(CellType::Q8_0Split);
    for (const auto& g : geometries(CellType::Q8_0)) {
        auto one = Layer(blocks, g), other = Layer(split, g);
        EXPECT_EQ(one.read(one.kv.k), one.k_bytes);
        EXPECT_EQ(other.read(other.kv.k), one.k_bytes);
        const auto causal = queries(g, 7, 28), spans = queries(g, kSpans.size(), 29),
                   runs = queries(g, kRuns.size(), 30);
        EXPECT_EQ(other.causal(causal, 63).values, one.causal(causal, 63).values);
        EXPECT_EQ(other.spans(spans, kSpans).values, one.spans(spans, kSpans).values);
        EXPECT_EQ(other.map(runs, kRuns).values, one.map(runs, kRuns).values);
    }
}

}  // namespace
}  // namespace minfer::test
