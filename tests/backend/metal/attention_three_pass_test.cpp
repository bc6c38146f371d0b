#include "backend/metal/attention_three_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention_rig.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::kThreePassCells;
using metal::kThreePassScratch;
using metal::Launch;

using testing::ElementsAre;
using testing::HasSubstr;

MetalOptions three_passes(std::vector<std::string>* labels = nullptr) {
    auto options = labels ? traced(labels) : MetalOptions();
    options.attention.prefill_flash = false;
    return options;
}

TEST(MetalThreePass, AThreadgroupIsFourRowsOfScores) {
    EXPECT_EQ(*metal::plan_three_pass(1), (Launch{{1}, {128}}));
    EXPECT_EQ(*metal::plan_three_pass(4), (Launch{{1}, {128}}));
    EXPECT_EQ(*metal::plan_three_pass(5), (Launch{{2}, {128}}));
    EXPECT_EQ(*metal::plan_three_pass(14 * 200), (Launch{{700}, {128}}));
    EXPECT_FALSE(metal::plan_three_pass(size_t{1} << 32));
}

TEST(MetalThreePass, ASlabHoldsAsManyRowsAsFit) {
    EXPECT_EQ(metal::three_pass_slab(100, 10, 4000), 100u);
    EXPECT_EQ(metal::three_pass_slab(101, 10, 4039), 100u);
    EXPECT_EQ(metal::three_pass_slab(9, 1000, 3999), 0u);
    EXPECT_EQ(metal::three_pass_slab(9, kThreePassCells, kThreePassScratch), 1u);
}

TEST(MetalThreePass, MatchesLoopsForEveryNumberOfTokensAndKeys) {
    auto rig = metal_rig(three_passes());
    struct Case {
        Geometry g;
        size_t n_tokens;
    };
    for (const auto& [g, n_tokens] :
         {Case{{14, 2, 64, 2}, 2}, Case{{4, 2, 128, 33}, 3}, Case{{3, 3, 64, 31}, 7},
          Case{{4, 1, 64, 64}, 9}, Case{{14, 2, 64, 257}, 2}, Case{{2, 1, 128, 300}, 33},
          Case{{7, 1, 128, 513}, 2}, Case{{1, 1, 64, 1025}, 2}, Case{{14, 2, 64, 200}, 200}}) {
        SCOPED_TRACE(
            fmt::format("{} tokens of {} cells, heads of {}", n_tokens, g.n_ctx, g.head_dim));
        auto layer = Layer(rig, g);
        const auto q = random_floats(g.width() * n_tokens, 61, 2);
        const auto first = static_cast<int32_t>(g.n_ctx - n_tokens);
        const auto got = layer.causal(q, first);
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, layer.want_causal(q, first)), kAttentionBar);
    }
}

TEST(MetalThreePass, TakesWhatIsCausalOfSeveralTokensAndCommonHeads) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(three_passes(&labels));
    const auto kernels = [&](const Geometry& g, size_t n_tokens) {
        auto layer = Layer(rig, g);
        labels.clear();
        EXPECT_EQ(layer.causal(random_floats(g.width() * n_tokens, 62), 3).error, "");
        return labels;
    };
    EXPECT_THAT(kernels({}, 2),
                ElementsAre("attention_scores_64", "attention_softmax", "attention_output_64"));
    EXPECT_THAT(kernels({2, 1, 128, 9}, 6),
                ElementsAre("attention_scores_128", "attention_softmax", "attention_output_128"));
    const auto others = testing::Not(testing::Contains("attention_softmax"));
    EXPECT_THAT(kernels({}, 1), others);
    EXPECT_THAT(kernels({2, 1, 96, 9}, 2), others);
    auto layer = Layer(rig);
    labels.clear();
    EXPECT_EQ(layer.spans(random_floats(layer.g.width() * 2, 63), {{0, 3}, {0, 4}}).error, "");
    EXPECT_THAT(labels, others);

    auto options = three_passes(&labels);
    options.attention.three_pass = false;
    auto without = metal_rig(options);
    auto same = Layer(without);
    labels.clear();
    EXPECT_EQ(same.causal(random_floats(same.g.width() * 2, 63), 3).error, "");
    EXPECT_THAT(labels, ElementsAre("attention_f32"));
}

// As run() of a rig, with scratch of the caller's size.
OpRig::Outcome with_scratch(Layer& layer, std::span<const float> q, int32_t first, size_t bytes) {
    auto& rig = layer.rig;
    const auto n_tokens = q.size() / layer.g.width();
    const auto node =
        Node{.name = "tested", .op = layer.g.op(false), .shape = {layer.g.width(), n_tokens, 1, 1}};
    EXPECT_TRUE(rig.backend().prepare(node));
    const BufRef in[] = {rig.floats(q), layer.kv.k,
                         rig.ints(range(first, first + static_cast<int32_t>(n_tokens)))};
    const auto out = rig.buffer(q.size() * sizeof(float)), scratch = rig.buffer(bytes);
    const auto done = rig.backend().execute(
        {.node = &node, .in = in, .out = out, .kv = layer.kv, .scratch = scratch});
    auto values = rig.view(out);
    rig.expect_guards(out);
    rig.expect_guards(scratch);
    return {std::move(values), done ? "" : done.error().what};
}

TEST(MetalThreePass, SlabsHaveTheBitsOfTheWhole) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(three_passes(&labels));
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 5, 64, 2);
    const auto whole = layer.causal(q, 60).values;  // 20 rows of 65 scores
    for (const size_t rows : {1, 3, 4, 19}) {
        labels.clear();
        const auto slabs = with_scratch(layer, q, 60, rows * 65 * sizeof(float) + 4);
        EXPECT_EQ(slabs.error, "");
        EXPECT_EQ(slabs.values, whole) << rows;
        EXPECT_EQ(labels.size(), 3 * ((20 + rows - 1) / rows));
    }
    labels.clear();
    EXPECT_THAT(with_scratch(layer, q, 60, 64 * sizeof(float)).error,
                HasSubstr("256 bytes of scratch hold no scores of 65 cells"));
    EXPECT_EQ(labels.size(), 0u);
    EXPECT_EQ(with_scratch(layer, q, 60, 65 * sizeof(float)).error, "");
}

TEST(MetalThreePass, ItsScratchIsBoundedForAnyContext) {
    auto rig = metal_rig(three_passes());
    const auto wanted = [&](size_t n_tokens, size_t n_ctx) {
        const auto g = Geometry{14, 2, 64, n_ctx};
        const auto bytes = rig.backend().prepare(
            {.name = "tested", .op = g.op(false), .shape = {g.width(), n_tokens, 1, 1}});
        EXPECT_TRUE(bytes) << bytes.error().what;
        return bytes.value_or(0);
    };
    EXPECT_EQ(wanted(2, 4096), 2u * 14 * 4096 * 4);
    EXPECT_EQ(wanted(512, 4096), kThreePassScratch);
    EXPECT_EQ(wanted(512, 40000), kThreePassScratch / 160000 * 160000);
    EXPECT_EQ(wanted(512, kThreePassCells), kThreePassScratch);
    EXPECT_EQ(wanted(512, kThreePassCells + 1), 0u) << "the classic kernel's";
}

TEST(MetalThreePass, PrefillInPiecesHasTheBitsOfTheWhole) {
    auto rig = metal_rig(three_passes());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 70, 65, 2);
    const auto whole = layer.causal(q, 20).values;
    for (const size_t piece : {2, 7, 35}) {
        auto parts = std::vector<float>();
        for (size_t t = 0; t < 70; t += piece) {
            const auto part =
                layer.causal(std::span(q).subspan(t * layer.g.width(), piece * layer.g.width()),
                             static_cast<int32_t>(20 + t));
            parts.insert(parts.end(), part.values.begin(), part.values.end());
        }
        EXPECT_EQ(parts, whole) << piece;
    }
}

// Cells that no token of the prompt sees may hold anything; one that is seen shows.
TEST(MetalThreePass, ReadsNoCellPastATokensOwn) {
    auto rig = metal_rig(three_passes());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 3, 66, 2);
    const auto want = layer.causal(q, 40).values;
    const auto with_nan_from = [&](size_t cell) {
        auto k = layer.k, v = layer.v;
        const auto from = static_cast<ptrdiff_t>(cell * layer.g.kv_width());
        std::fill(k.begin() + from, k.end(), NAN);
        std::fill(v.begin() + from, v.end(), NAN);
        layer.kv = {.k = rig.floats(k), .v = rig.floats(v)};
        return layer.causal(q, 40).values;
    };
    EXPECT_EQ(with_nan_from(43), want);
    // The first two of three tokens do not see cell 42.
    const auto got = with_nan_from(42);
    const auto seen = static_cast<ptrdiff_t>(2 * layer.g.width());
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + seen, want.begin()));
    for (size_t i = static_cast<size_t>(seen); i < got.size(); ++i)
        EXPECT_TRUE(std::isnan(got[i])) << i;
}

TEST(MetalThreePass, ScoresOfAnySizeStayFiniteAndExact) {
    auto rig = metal_rig(three_passes());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 2, 67, 1e4f);
    EXPECT_LE(nmse(layer.causal(q, 90).values, layer.want_causal(q, 90)), kAttentionBar);
}

TEST(MetalThreePass, PositionsOutsideTheArenaAreRefusedBeforeAnyDispatch) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(three_passes(&labels));
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 2, 68);
    EXPECT_THAT(layer.causal(q, 99).error, HasSubstr("position 100 of token 1"));
    EXPECT_THAT(layer.causal(q, -1).error, HasSubstr("position -1 of token 0"));
    EXPECT_EQ(labels.size(), 0u);
    EXPECT_EQ(layer.causal(q, 98).error, "");
    EXPECT_EQ(labels.size(), 3u);
}

}  // namespace
}  // namespace minfer::test
