// Classic attention over cells of every type, against double loops over the cells as stored.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/metal/cell_types.h"
#include "backend/metal/rig.h"
#include "graph/attn_window.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::CellType;
using reference::Cells;
using Runs = std::vector<std::array<int32_t, 2>>;  // (cell, length)

struct Heads {
    size_t n_head = 4, n_head_kv = 2, head_dim = 64;
};

constexpr size_t kCells = 70;

op::Attention attention(const Heads& heads, CellType type, bool explicit_span) {
    const auto width = heads.n_head_kv * heads.head_dim;
    return {.n_head = heads.n_head,
            .n_head_kv = heads.n_head_kv,
            .head_dim = heads.head_dim,
            .scale = 1 / std::sqrt(static_cast<float>(heads.head_dim)),
            .layout = kv_layout(format_of(type), width),
            .n_ctx = kCells,
            .explicit_span = explicit_span};
}

// Only the classic kernel: no route has another for these switches.
MetalOptions classic(CellType type) {
    return with_cells(type, {.attention = {.flash = false,
                                           .split = false,
                                           .prefill_flash = false,
                                           .three_pass = false,
                                           .window_flash = false}});
}

Cells cells_of(const Runs& runs) {
    auto cells = Cells();
    for (const auto& [first, length] : runs)
        for (int32_t i = 0; i < length; ++i) cells.push_back(first + i);
    return cells;
}

struct Case {
    bool causal = false;
    std::vector<Runs> tokens;     // what each one sees
    std::vector<int32_t> window;  // as the op has it
    std::vector<int32_t> positions;
};

// Tokens at consecutive positions, the last one at that of the last cell.
Case causal_case() {
    auto all = Case{.causal = true};
    for (const int32_t end : {64, 65, 66, 67, 68, 69, 70}) {
        all.tokens.push_back({{0, end}});
        all.positions.push_back(end - 1);
    }
    all.window = std::vector<int32_t>(all.tokens.size(), 0);
    for (const auto position : all.positions) all.window.push_back(position + 1);
    return all;
}

Case span_case() {
    auto all = Case{.tokens = {{{0, 1}}, {{69, 1}}, {{5, 32}}, {{1, 33}}, {{0, 70}}}};
    for (const auto& runs : all.tokens) all.window.push_back(runs[0][0]);
    for (const auto& runs : all.tokens) all.window.push_back(runs[0][0] + runs[0][1]);
    all.positions = std::vector<int32_t>(all.tokens.size(), 0);
    return all;
}

Case map_case() {
    auto all = Case{.tokens = {{{37, 1}},
                               {{40, 20}, {0, 7}},
                               {{50, 3}, {1, 1}, {60, 10}, {20, 29}},
                               {{0, 32}, {32, 32}}}};
    all.window = std::vector<int32_t>(kv_map_elements(all.tokens.size()));
    for (size_t t = 0; t < all.tokens.size(); ++t)
        for (size_t run = 0; run < all.tokens[t].size(); ++run)
            for (size_t i = 0; i < 2; ++i) all.window[t * 8 + run * 2 + i] = all.tokens[t][run][i];
    all.positions = std::vector<int32_t>(all.tokens.size(), 0);
    return all;
}

OpRig::Outcome run(KvCells& layer, const op::Attention& op, const Case& wanted,
                   std::span<const float> q) {
    auto& rig = layer.rig;
    return rig.run(op, {op.n_head * op.head_dim, wanted.tokens.size(), 1, 1},
                   {rig.floats(q), layer.kv.k, rig.ints(wanted.positions), rig.ints(wanted.window)},
                   layer.kv);
}

class MetalAttentionCells : public testing::TestWithParam<CellType> {};

TEST_P(MetalAttentionCells, EveryWindowMatchesDoubleLoopsOverTheCellsAsStored) {
    auto rig = metal_rig(classic(GetParam()));
    for (const auto& heads : {Heads(), Heads{14, 2, 64}, Heads{3, 3, 128}, Heads{2, 1, 32},
                              Heads{6, 3, 96}, Heads{2, 1, 256}, Heads{4, 4, 8}})
        for (const auto& wanted : {causal_case(), span_case(), map_case()}) {
            const auto op = attention(heads, GetParam(), !wanted.causal);
            auto layer = KvCells(rig, op.layout, kCells);
            const auto width = heads.n_head * heads.head_dim;
            const auto q = random_floats(wanted.tokens.size() * width, 23, 2);
            auto windows = std::vector<Cells>();
            for (const auto& runs : wanted.tokens) windows.push_back(cells_of(runs));
            const auto got = run(layer, op, wanted, q);
            EXPECT_EQ(got.error, "");
            EXPECT_LE(nmse(got.values, reference::attention(op, reference::widened(q), layer.k,
                                                            layer.v, windows)),
                      kAttentionBar)
                << heads.n_head << " " << heads.n_head_kv << " " << heads.head_dim;
        }
}

TEST_P(MetalAttentionCells, AWindowOfOneCellGivesItsValuesBitForBit) {
    auto rig = metal_rig(classic(GetParam()));
    const auto op = attention({2, 1, 96}, GetParam(), true);
    auto layer = KvCells(rig, op.layout, kCells);
    const auto q = random_floats(2 * 96, 24, 3);
    for (const int32_t cell : {0, 37, 69}) {
        const auto* const row = &layer.v[static_cast<size_t>(cell) * 96];
        auto want = std::vector<float>(row, row + 96);
        want.insert(want.end(), row, row + 96);
        EXPECT_EQ(run(layer, op, {.tokens = {{}}, .window = {cell, cell + 1}, .positions = {0}}, q)
                      .values,
                  want);
    }
}

INSTANTIATE_TEST_SUITE_P(Cells, MetalAttentionCells, testing::ValuesIn(metal::kCellTypes),
                         [](const auto& info) { return std::string(metal::name(info.param)); });

// Quants before scales are the same cells.
TEST(MetalAttentionCellOrders, BothOrdersOfQ8_0GiveTheSameBits) {
    auto blocks = metal_rig(classic(CellType::Q8_0)),
         split = metal_rig(classic(CellType::Q8_0Split));
    for (const auto& heads : {Heads(), Heads{3, 3, 32}, Heads{2, 1, 160}})
        for (const auto& wanted : {causal_case(), span_case(), map_case()}) {
            const auto op = attention(heads, CellType::Q8_0, !wanted.causal);
            auto one = KvCells(blocks, op.layout, kCells),
                 other = KvCells(split, op.layout, kCells);
            EXPECT_EQ(other.read(other.kv.k), one.read(one.kv.k));
            EXPECT_EQ(other.read(other.kv.k), one.k_bytes);
            const auto width = heads.n_head * heads.head_dim;
            const auto q = random_floats(wanted.tokens.size() * width, 25, 2);
            const auto got = run(one, op, wanted, q);
            EXPECT_EQ(got.error, "");
            EXPECT_EQ(run(other, op, wanted, q).values, got.values);
        }
}

// A score that is no number is no zero, and shows in its own head and token alone.
TEST_P(MetalAttentionCells, AScoreThatIsNoNumberGivesNaN) {
    auto rig = metal_rig(classic(GetParam()));
    const auto op = attention({2, 2, 64}, GetParam(), true);
    auto layer = KvCells(rig, op.layout, kCells);
    auto q = random_floats(2 * 128, 26);
    const auto wanted = Case{.tokens = {{}, {}}, .window = {0, 3, 40, 43}, .positions = {0, 0}};
    const auto clean = run(layer, op, wanted, q).values;
    EXPECT_THAT(clean, testing::Each(testing::Truly([](float x) { return std::isfinite(x); })));
    q[128 + 64 + 5] = NAN;
    const auto got = run(layer, op, wanted, q).values;
    for (size_t i = 0; i < got.size(); ++i) {
        if (i >= 128 + 64)
            EXPECT_TRUE(std::isnan(got[i])) << i << " is " << got[i];
        else
            EXPECT_EQ(got[i], clean[i]) << i;
    }
}

}  // namespace
}  // namespace minfer::test
