#include "backend/metal/attention_prefill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention_grid.h"

namespace minfer::test {
namespace {

using metal::Launch;
using testing::Each;
using testing::Not;
using testing::StartsWith;

MetalOptions with(AttentionOptions attention, std::vector<std::string>* labels = nullptr) {
    auto options = labels ? traced(labels) : MetalOptions();
    options.attention = attention;
    return options;
}

// What tokens at consecutive positions up to the last of `n_cells` get.
OpRig::Outcome last_tokens(Layer& layer, std::span<const float> q, size_t n_cells) {
    return layer.causal(q, static_cast<int32_t>(n_cells - q.size() / layer.g.width()));
}
reference::Values want_last_tokens(const Layer& layer, std::span<const float> q, size_t n_cells) {
    return layer.want_causal(q, static_cast<int32_t>(n_cells - q.size() / layer.g.width()));
}

TEST(MetalPrefill, AThreadgroupIsATileOfEightQueriesAndAHead) {
    const auto shared = [](uint32_t head_dim) {
        return (16 * head_dim + 8 * 64 + 16 + 4 * 64) * 4;
    };
    EXPECT_EQ(*metal::plan_prefill(2, 14, 64), (Launch{{1, 14}, {128}, shared(64)}));
    EXPECT_EQ(*metal::plan_prefill(8, 1, 128), (Launch{{1, 1}, {128}, shared(128)}));
    EXPECT_EQ(*metal::plan_prefill(9, 1, 256), (Launch{{2, 1}, {128}, shared(256)}));
    EXPECT_EQ(shared(256), 19520u);
}

TEST(MetalPrefill, ThePadTakesSixteenBytesAThreadOfEachCellOfABlock) {
    EXPECT_EQ(*metal::plan_tail_pad(128), (Launch{{1, 64, 2}, {32}}));
    EXPECT_EQ(*metal::plan_tail_pad(512), (Launch{{1, 64, 2}, {32}}));
    EXPECT_EQ(*metal::plan_tail_pad(528), (Launch{{1, 64, 2}, {64}}));
    EXPECT_EQ(*metal::plan_tail_pad(4096), (Launch{{1, 64, 2}, {256}}));
    EXPECT_EQ(*metal::plan_tail_pad(4112), (Launch{{2, 64, 2}, {256}}));
}

TEST(MetalPrefill, OnlyAPartialLastBlockIsPadded) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(traced(&labels));
    auto layer = Layer(rig, {.n_ctx = 130});
    const auto run = [&](size_t n_cells) {
        labels.clear();
        EXPECT_EQ(last_tokens(layer, random_floats(layer.g.width() * 2, 41), n_cells).error, "");
        return labels;
    };
    using Labels = std::vector<std::string>;
    EXPECT_EQ(run(64), Labels{"attention_prefill_f32_64_causal"});
    EXPECT_EQ(run(128), Labels{"attention_prefill_f32_64_causal"});
    EXPECT_EQ(run(65), (Labels{"attention_tail_pad", "attention_prefill_f32_64_causal"}));
    EXPECT_EQ(run(63), (Labels{"attention_tail_pad", "attention_prefill_f32_64_causal"}));
}

// Against the classic kernels as well as against loops.
TEST(MetalPrefill, flash_attn_blk_isolation) {
    auto tiles = metal_rig(), classic = metal_rig(classic_only());
    struct Case {
        Geometry g;
        size_t n_tokens;
    };
    for (auto [g, n_tokens] :
         {Case{{14, 2, 64, 200}, 200}, Case{{4, 2, 128, 130}, 33}, Case{{3, 3, 64, 20}, 7},
          Case{{2, 1, 80, 70}, 9}, Case{{4, 1, 96, 129}, 8}, Case{{2, 2, 112, 65}, 12},
          Case{{3, 1, 256, 100}, 17}})
        for (const auto format : {KvFormat::F32, KvFormat::F16}) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(format), g.head_dim));
            g.format = format;
            auto layer = Layer(tiles, g), other = Layer(classic, g);
            const auto q = random_floats(g.width() * n_tokens, 42, 2);
            const auto got = last_tokens(layer, q, g.n_ctx), same = last_tokens(other, q, g.n_ctx);
            EXPECT_EQ(got.error + same.error, "");
            EXPECT_LE(nmse(got.values, want_last_tokens(layer, q, g.n_ctx)), kAttentionBar);
            EXPECT_LE(nmse(got.values, same.values), kAttentionBar);
        }
}

using MetalPrefillOf = MetalKind;
INSTANTIATE_TEST_SUITE_P(Kinds, MetalPrefillOf, testing::ValuesIn(kKinds), kind_name);

TEST_P(MetalPrefillOf, flash_prefill_matches_the_cpu_reference_at_every_kv_tail) {
    auto some = layer(200);
    for (const int32_t n_tokens : {2, 3, 64, 70, 197}) {
        const auto q = queries(some, n_tokens);
        for (const auto n_cells : kCellCounts)
            if (n_tokens <= n_cells) expect_causal(some, q, n_cells);
    }
    auto many = layer(kManyCells + 1);
    expect_causal(many, queries(many, 9), kManyCells);
}

// Blocks begin at cell 0 for every piece, and what a token does not see leaves no trace.
TEST(MetalPrefill, PiecesOfAPromptHaveTheBitsOfTheWhole) {
    auto rig = metal_rig();
    for (const size_t head_dim : {64, 128}) {
        auto layer = Layer(rig, {.head_dim = head_dim, .n_ctx = 160});
        const auto width = layer.g.width();
        const auto q = random_floats(width * 150, 45, 2);
        const auto whole = layer.causal(q, 0).values;
        for (const size_t piece : {2, 10, 50, 75}) {
            auto parts = std::vector<float>();
            for (size_t t = 0; t < 150; t += piece) {
                const auto part = layer.causal(std::span(q).subspan(t * width, piece * width),
                                               static_cast<int32_t>(t));
                parts.insert(parts.end(), part.values.begin(), part.values.end());
            }
            EXPECT_EQ(parts, whole) << piece;
        }
    }
}

TEST(MetalPrefill, StoppingEarlyLeavesEveryBit) {
    auto stops = metal_rig(), goes_on = metal_rig(with({.early_stop = false}));
    for (const size_t n_cells : {64, 65, 128, 197}) {
        auto layer = Layer(stops, {.n_ctx = 200}), other = Layer(goes_on, {.n_ctx = 200});
        const auto q = random_floats(layer.g.width() * n_cells, 46, 2);
        const auto got = layer.causal(q, 0);
        EXPECT_EQ(got.error, "");
        EXPECT_EQ(got.values, other.causal(q, 0).values) << n_cells;
    }
}

// Positions need not be in order: a tile goes on to the last one in it.
TEST(MetalPrefill, TokensOfATileMayStandAnywhere) {
    auto rig = metal_rig();
    auto layer = Layer(rig, {.n_ctx = 300});
    const auto positions = std::vector<int32_t>{299, 0, 64, 63, 128, 5, 190, 255, 1, 65};
    auto windows = std::vector<Cells>();
    for (const auto position : positions) windows.push_back(range(0, position + 1));
    const auto q = random_floats(layer.g.width() * positions.size(), 47, 2);
    const auto got = layer.run(layer.g.op(false), q, positions, {});
    EXPECT_LE(nmse(got.values, layer.want(q, windows)), kAttentionBar);
}

// Among them those between the last cell and the end of its block.
TEST(MetalPrefill, CellsPastTheLastPositionMayHoldAnything) {
    auto rig = metal_rig();
    auto layer = Layer(rig, {.n_ctx = 200});
    const auto q = random_floats(layer.g.width() * 20, 48, 2);
    for (const size_t n_cells : {40, 64, 100}) {
        const auto want = last_tokens(layer, q, n_cells).values;
        auto dirty = layer;
        const auto first = static_cast<ptrdiff_t>(n_cells * layer.g.kv_width());
        std::fill(dirty.k.begin() + first, dirty.k.end(), NAN);
        std::fill(dirty.v.begin() + first, dirty.v.end(), NAN);
        dirty.kv = {.k = rig.floats(dirty.k), .v = rig.floats(dirty.v)};
        EXPECT_EQ(last_tokens(dirty, q, n_cells).values, want) << n_cells;
    }
}

TEST(MetalPrefill, ScoresOfAnySizeStayFiniteAndExact) {
    auto rig = metal_rig();
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 9, 49, 1e4f);
    EXPECT_LE(nmse(layer.causal(q, 90).values, layer.want_causal(q, 90)), kAttentionBar);
}

TEST(MetalPrefill, AQueryThatIsNoNumberShowsInItsOwnHeadAlone) {
    auto rig = metal_rig();
    auto layer = Layer(rig);
    const auto& g = layer.g;
    auto q = random_floats(g.width() * 9, 50, 2);
    const auto want = layer.causal(q, 60).values;
    const auto begin = 3 * g.width() + 2 * g.head_dim;  // token 3, head 2
    q[begin + 7] = NAN;
    const auto got = layer.causal(q, 60).values;
    for (size_t i = 0; i < got.size(); ++i) {
        const bool is_concerned = i >= begin && i < begin + g.head_dim;
        if (is_concerned)
            EXPECT_TRUE(std::isnan(got[i])) << i;
        else
            EXPECT_EQ(got[i], want[i]) << i;
    }
}

TEST(MetalPrefill, ASwitchThatIsOffTakesOtherKernels) {
    const auto labels_of = [](AttentionOptions attention, size_t head_dim) {
        auto labels = std::vector<std::string>();
        auto rig = metal_rig(with(attention, &labels));
        auto layer = Layer(rig, {.head_dim = head_dim});
        EXPECT_EQ(layer.causal(random_floats(layer.g.width() * 9, 51), 60).error, "");
        return labels;
    };
    EXPECT_THAT(labels_of({}, 64), testing::Contains(StartsWith("attention_prefill")));
    EXPECT_THAT(labels_of({}, 80), testing::Contains(StartsWith("attention_prefill")));
    EXPECT_THAT(labels_of({.prefill_flash = false}, 64),
                Each(Not(StartsWith("attention_prefill"))));
    EXPECT_THAT(labels_of({.any_head_size = false}, 80),
                Each(Not(StartsWith("attention_prefill"))));
    EXPECT_THAT(labels_of({}, 72), Each(Not(StartsWith("attention_prefill"))));
}

}  // namespace
}  // namespace minfer::test
