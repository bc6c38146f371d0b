#include "backend/metal/attention_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention.h"
#include "backend/metal/attention_rig.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::Launch;
using Labels = std::vector<std::string>;

Geometry packed(size_t head_dim = 64, size_t n_ctx = 200) {
    return {.n_head = 4,
            .n_head_kv = 2,
            .head_dim = head_dim,
            .n_ctx = n_ctx,
            .format = KvFormat::Q8_0};
}

// Both orders that packed cells may have in memory.
std::vector<AttentionOptions> orders() { return {{}, {.split_blocks = false}}; }

TEST(MetalStage, AThreadTakesFourElementsOfACell) {
    EXPECT_EQ(*metal::plan_stage(128, 9), (Launch{{9, 1, 2}, {32}}));
    EXPECT_EQ(*metal::plan_stage(160, 9), (Launch{{9, 1, 2}, {64}}));
    EXPECT_EQ(*metal::plan_stage(1024, 1), (Launch{{1, 1, 2}, {256}}));
    EXPECT_EQ(*metal::plan_stage(1056, 1), (Launch{{1, 2, 2}, {256}}));
}

TEST(MetalStage, PackedCellsOfAPromptMatchTheReference) {
    for (const auto& attention : orders()) {
        auto rig = metal_rig({.attention = attention});
        for (const size_t head_dim : {64, 80, 128}) {
            auto layer = Layer(rig, packed(head_dim));
            const auto q = random_floats(layer.g.width() * 33, 71, 2);
            for (const int32_t first : {0, 31, 100}) {
                const auto got = layer.causal(q, first);
                EXPECT_EQ(got.error, "");
                EXPECT_LE(nmse(got.values, layer.want_causal(q, first)), kAttentionBar)
                    << head_dim << " from " << first;
            }
        }
    }
}

// Row i of the stage is cell i: where the window begins changes nothing.
TEST(MetalStage, metal_packed_window_stages_at_the_absolute_row) {
    for (const auto& attention : orders()) {
        auto rig = metal_rig({.attention = attention});
        auto layer = Layer(rig, packed());
        const auto q = random_floats(layer.g.width() * 20, 72, 2);
        for (const int32_t first : {0, 64, 96, 171}) {
            auto spans = std::vector<Span>();
            auto maps = std::vector<Runs>();
            for (int32_t t = 0; t < 20; ++t) {
                spans.push_back({first, first + t + 1});
                maps.push_back({{first, 3}, {first + 5, t + 1}});
            }
            const auto got = layer.spans(q, spans), by_map = layer.map(q, maps);
            EXPECT_EQ(got.error + by_map.error, "");
            EXPECT_LE(nmse(got.values, layer.want(q, cells_of(spans))), kAttentionBar) << first;
            EXPECT_LE(nmse(by_map.values, layer.want(q, cells_of(maps))), kAttentionBar) << first;
        }
    }
}

// An element is expanded to f32 exactly, so that kernels over f32 cells of the same values agree.
TEST(MetalStage, StagedCellsHaveTheBitsOfF32CellsOfTheSameValues) {
    for (const auto& attention : orders()) {
        auto rig = metal_rig({.attention = attention});
        auto layer = Layer(rig, packed());
        auto g = layer.g;
        g.format = KvFormat::F32;
        auto plain = Layer(rig, g);
        plain.kv = {.k = rig.floats(layer.k), .v = rig.floats(layer.v)};
        const auto q = random_floats(g.width() * 20, 73, 2);
        EXPECT_EQ(layer.causal(q, 77).values, plain.causal(q, 77).values);
    }
}

// One token, its cells read as they are and expanded first.
TEST(MetalStage, metal_packed_decode_stage_matches_the_native_read) {
    for (auto attention : orders()) {
        auto native = metal_rig({.attention = attention});
        auto labels = Labels();
        auto options = traced(&labels);
        options.attention = attention;
        options.attention.stage_packed = true;
        auto staged = metal_rig(options);
        for (const size_t head_dim : {64, 128}) {
            auto layer = Layer(native, packed(head_dim)), other = Layer(staged, packed(head_dim));
            const auto q = random_floats(layer.g.width(), 75, 2);
            for (const int32_t position : {0, 33, 199}) {
                const auto got = layer.causal(q, position), expanded = other.causal(q, position);
                EXPECT_EQ(got.error + expanded.error, "");
                EXPECT_LE(nmse(expanded.values, layer.want_causal(q, position)), kAttentionBar);
                EXPECT_LE(nmse(expanded.values, got.values), kAttentionBar);
            }
        }
        EXPECT_THAT(labels, testing::Contains(testing::StartsWith("kv_dequantize_q8_0")).Times(6));
    }
}

TEST(MetalStage, EachOrderOfBlocksHasItsKernelAndASwitchThatIsOffNone) {
    const auto labels_of = [](AttentionOptions attention, size_t n_tokens) {
        auto labels = Labels();
        auto options = traced(&labels);
        options.attention = attention;
        auto rig = metal_rig(options);
        auto layer = Layer(rig, packed());
        EXPECT_EQ(layer.causal(random_floats(layer.g.width() * n_tokens, 74), 60).error, "");
        return labels;
    };
    EXPECT_EQ(labels_of({}, 4),
              (Labels{"kv_dequantize_q8_0_split", "attention_prefill_f32_64_causal"}));
    EXPECT_EQ(labels_of({.split_blocks = false}, 4),
              (Labels{"kv_dequantize_q8_0", "attention_prefill_f32_64_causal"}));
    EXPECT_EQ(labels_of({.prefill_flash = false}, 4), Labels{"attention_q8_0_split"});
}

using Ranges = std::vector<CellExtent>;

Ranges ranges(const std::vector<Runs>& windows) {
    const auto data = map_input(windows);
    const auto n = windows.size();
    return metal::stage_ranges(WindowKind::Map, data, n, window_extent(WindowKind::Map, data, n));
}

TEST(MetalStageRanges, AreTheBlocksInWhichAnyTokenSeesACell) {
    EXPECT_EQ(ranges({{{0, 200}}}), (Ranges{{0, 200}}));
    // Blocks are counted from the first cell that is seen, and the last one ends where cells do.
    EXPECT_EQ(ranges({{{10, 1}, {500, 3}}}), (Ranges{{10, 74}, {458, 503}}));
    EXPECT_EQ(ranges({{{10, 64}, {138, 1}}}), (Ranges{{10, 74}, {138, 139}}));
    EXPECT_EQ(ranges({{{10, 65}, {138, 1}}}), (Ranges{{10, 139}})) << "neighbours are one";
    // Of all tokens together, in the order of cells.
    EXPECT_EQ(ranges({{{640, 64}}, {{0, 64}, {1280, 1}}, {{640, 65}}}),
              (Ranges{{0, 64}, {640, 768}, {1280, 1281}}));
    const auto spans = span_input({{1000, 1001}, {0, 64}});
    EXPECT_EQ(metal::stage_ranges(WindowKind::Span, spans, 2, {0, 1001}),
              (Ranges{{0, 64}, {960, 1001}}));
}

TEST(MetalStageRanges, AreNoMoreThanTheirMostAndTakeInTheNarrowestGapsForIt) {
    auto windows = std::vector<Runs>();
    for (int32_t i = 0; i <= int32_t{metal::kMostStageRanges}; ++i)
        windows.push_back({{i * 640, 1}, {6400 + 320, 1}});
    const auto found = ranges(windows);
    EXPECT_EQ(found.size(), metal::kMostStageRanges);
    EXPECT_EQ(std::ranges::count(found, CellExtent{6400, 7104}), 1) << "the two narrow gaps";
    EXPECT_EQ(std::ranges::count(found, CellExtent{640, 704}), 1);
}

TEST(MetalStage, ItsScratchIsTheArenaAsF32AndABlockBesides) {
    auto backend = metal_backend();
    const auto g = packed();
    const auto node = Node{.name = "tested", .op = g.op(false), .shape = {g.width(), 9, 1, 1}};
    const auto wanted = backend->prepare(node);
    ASSERT_TRUE(wanted) << wanted.error().what;
    EXPECT_EQ(*wanted, (2 * g.n_ctx + 2 * 64) * g.kv_width() * sizeof(float));
}

}  // namespace
}  // namespace minfer::test
