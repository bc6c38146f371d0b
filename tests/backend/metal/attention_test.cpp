// The classic family, and what is refused before any family is chosen.

#include "backend/metal/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention_rig.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::Launch;
using testing::HasSubstr;

TEST(MetalAttention, AThreadgroupIsATokenAKvHeadAndUpToEightQueryHeads) {
    const auto shared = [](uint32_t heads) { return (32 * 68 + 32 + heads * 32) * 4; };
    EXPECT_EQ(*metal::plan_classic(30, 14, 2), (Launch{{30, 2, 1}, {7 * 32}, shared(7)}));
    EXPECT_EQ(*metal::plan_classic(1, 8, 8), (Launch{{1, 8, 1}, {32}, shared(1)}));
    EXPECT_EQ(*metal::plan_classic(1, 8, 1), (Launch{{1, 1, 1}, {256}, shared(8)}));
    EXPECT_EQ(*metal::plan_classic(1, 9, 1), (Launch{{1, 1, 2}, {5 * 32}, shared(5)}));
    EXPECT_EQ(*metal::plan_classic(1, 64, 1), (Launch{{1, 1, 8}, {256}, shared(8)}));
    EXPECT_EQ(shared(8) % 16, 0u);
}

TEST(MetalAttention, metal_attn_kv_matches_cpu) {
    auto metal = metal_rig(classic_only()), cpu = cpu_rig();
    for (const auto& g :
         {Geometry{}, Geometry{.n_head = 3, .n_head_kv = 3, .head_dim = 20},
          Geometry{.n_head = 1, .n_head_kv = 1, .head_dim = 4}, Geometry{16, 8, 128, 65},
          Geometry{6, 3, 80, 40}, Geometry{6, 2, 96, 35}, Geometry{2, 1, 132, 70},
          Geometry{3, 1, 256, 66}, Geometry{9, 1, 64, 40}, Geometry{64, 2, 8, 40}}) {
        auto layer = Layer(metal, g), on_cpu = Layer(cpu, g);
        const auto q = random_floats(g.width() * 3, 23, 2);
        const auto first = static_cast<int32_t>(g.n_ctx) - 3;
        const auto got = layer.causal(q, first), same = on_cpu.causal(q, first);
        EXPECT_EQ(got.error + same.error, "");
        EXPECT_LE(nmse(got.values, layer.want_causal(q, first)), kAttentionBar) << g.head_dim;
        EXPECT_LE(nmse(got.values, same.values), kAttentionBar) << g.head_dim;
    }
}

TEST(MetalAttention, metal_attn_kv_real_scale) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig, {.n_head = 14, .n_head_kv = 2, .n_ctx = 128});
    const auto q = random_floats(layer.g.width() * 30, 24, 2);
    const auto got = layer.causal(q, 0);
    EXPECT_EQ(got.error, "");
    EXPECT_LE(nmse(got.values, layer.want_causal(q, 0)), kAttentionBar);
}

// What a decode step reads is what stores wrote, in the same command buffer.
TEST(MetalAttention, metal_attn_decode_step) {
    auto rig = metal_rig(classic_only());
    const auto g = Geometry{.n_head = 14, .n_head_kv = 2, .n_ctx = 128};
    auto layer = Layer(rig, g);
    const auto k = random_floats(30 * g.kv_width(), 25), v = random_floats(30 * g.kv_width(), 26);
    const auto stored = std::vector{rig.floats(k), rig.floats(v), rig.ints(range(0, 30))};
    const auto store = op::KvStore{.layout = g.layout(), .n_ctx = g.n_ctx};
    const auto q = random_floats(g.width(), 27, 2);
    const auto in = std::vector{rig.floats(q), layer.kv.k, rig.ints(Cells{29})};
    const auto out = rig.buffer(g.width() * sizeof(float));
    auto& backend = rig.backend();
    EXPECT_EQ(encode(backend, store, {g.kv_width(), g.n_ctx, 1, 1}, stored, layer.kv.k, layer.kv),
              "");
    EXPECT_EQ(encode(backend, g.op(false), {g.width(), 1, 1, 1}, in, out, layer.kv), "");
    const auto got = rig.view(out);
    std::ranges::copy(k, layer.k.begin());
    std::ranges::copy(v, layer.v.begin());
    EXPECT_LE(nmse(got, layer.want(q, {range(0, 30)})), kAttentionBar);
    EXPECT_EQ(static_cast<MetalBackend&>(backend).counters().command_buffers, 1u);
}

// Window lengths about every multiple of the tile, each with its own number of tiles in one batch.
TEST(MetalAttention, metal_attn_span_matches_cpu) {
    auto metal = metal_rig(classic_only()), cpu = cpu_rig();
    const auto g = Geometry{.n_ctx = 300};
    auto layer = Layer(metal, g), on_cpu = Layer(cpu, g);
    auto spans = std::vector<Span>();
    auto windows = std::vector<Cells>();
    for (const int32_t length : {1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 300}) {
        spans.push_back({0, length});
        windows.push_back(range(0, length));
    }
    const auto q = random_floats(g.width() * spans.size(), 28, 2);
    const auto got = layer.spans(q, spans), same = on_cpu.spans(q, spans);
    EXPECT_EQ(got.error + same.error, "");
    EXPECT_LE(nmse(got.values, layer.want(q, windows)), kAttentionBar);
    EXPECT_LE(nmse(got.values, same.values), kAttentionBar);
}

TEST(MetalAttention, metal_attn_span_multi_key_matches_cpu) {
    auto metal = metal_rig(classic_only()), cpu = cpu_rig();
    const auto g = Geometry{.n_head = 14, .n_head_kv = 2, .n_ctx = 40};
    auto layer = Layer(metal, g), on_cpu = Layer(cpu, g);
    const auto q = random_floats(g.width() * 2, 29, 2);
    const auto got = layer.spans(q, {{0, 5}, {0, 37}}), same = on_cpu.spans(q, {{0, 5}, {0, 37}});
    EXPECT_LE(nmse(got.values, layer.want(q, {range(0, 5), range(0, 37)})), kAttentionBar);
    EXPECT_LE(nmse(got.values, same.values), kAttentionBar);
}

TEST(MetalAttention, metal_attn_span_nonzero_start) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig, {.n_ctx = 200});
    const auto q = random_floats(layer.g.width() * 3, 30, 2);
    const auto got = layer.spans(q, {{96, 166}, {1, 65}, {135, 200}});
    EXPECT_LE(nmse(got.values, layer.want(q, {range(96, 166), range(1, 65), range(135, 200)})),
              kAttentionBar);
    const auto shifted = layer.spans(q, {{97, 167}, {2, 66}, {134, 199}});
    EXPECT_GT(nmse(shifted.values, got.values), 1e-3);
}

TEST(MetalAttention, metal_map_single_cell_matches_the_v_row) {
    auto rig = metal_rig(classic_only());
    for (const auto& g : {Geometry{}, Geometry{6, 2, 96, 50}, Geometry{2, 1, 200, 50}}) {
        auto layer = Layer(rig, g);
        const auto q = random_floats(g.width(), 31, 3);
        auto want = std::vector<float>();
        for (size_t h = 0; h < g.n_head; ++h) {
            const auto at = 37 * g.kv_width() + h / (g.n_head / g.n_head_kv) * g.head_dim;
            want.insert(want.end(), &layer.v[at], &layer.v[at] + g.head_dim);
        }
        EXPECT_EQ(layer.map(q, {{{37, 1}}}).values, want);
        EXPECT_EQ(layer.spans(q, {{37, 38}}).values, want);
    }
}

TEST(MetalAttention, metal_map_matches_the_span_and_a_wrong_base_differs) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width(), 32, 2);
    const auto dense = layer.spans(q, {{5, 75}}).values;
    EXPECT_EQ(layer.map(q, {{{5, 70}}}).values, dense);
    EXPECT_EQ(layer.map(q, {{{5, 1}, {6, 69}}}).values, dense);
    EXPECT_EQ(layer.map(q, {{{5, 13}, {18, 27}, {45, 30}}}).values, dense);
    EXPECT_EQ(layer.map(q, {{{5, 31}, {36, 1}, {37, 1}, {38, 37}}}).values, dense);
    EXPECT_LE(nmse(dense, layer.want(q, {range(5, 75)})), kAttentionBar);
    // One of 70 cells is another: far above rounding.
    EXPECT_GT(nmse(layer.map(q, {{{6, 13}, {18, 27}, {45, 30}}}).values, dense), 1e-5);
    EXPECT_GT(nmse(layer.map(q, {{{5, 13}, {18, 27}, {46, 30}}}).values, dense), 1e-5);
}

TEST(MetalAttention, ScatteredRunsOfSeveralTokensMatchTheReference) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 2, 33, 2);
    auto first = range(90, 100), second = range(50, 83);
    for (const auto& more : {range(0, 7)}) first.insert(first.end(), more.begin(), more.end());
    for (const auto& more : {range(1, 2), range(83, 93), range(20, 29)})
        second.insert(second.end(), more.begin(), more.end());
    const auto got = layer.map(q, {{{90, 10}, {0, 7}}, {{50, 33}, {1, 1}, {83, 10}, {20, 9}}});
    EXPECT_LE(nmse(got.values, layer.want(q, {first, second})), kAttentionBar);
}

TEST(MetalAttention, CausalWindowsHaveTheBitsOfTheSameSpansAndIgnoreTheWindowInput) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 40, 34, 2);
    const auto causal = layer.causal(q, 7).values;
    EXPECT_EQ(layer.spans(q, causal_spans(40, 7)).values, causal);
    const auto other = span_input(causal_spans(40, 9));
    EXPECT_EQ(layer.run(layer.g.op(false), q, range(7, 47), other).values, causal);
}

TEST(MetalAttention, PrefillInPiecesHasTheBitsOfTheWhole) {
    auto rig = metal_rig(classic_only());
    for (const auto& g : {Geometry{}, Geometry{9, 1, 132, 100}}) {
        auto layer = Layer(rig, g);
        const auto q = random_floats(g.width() * 70, 35, 2);
        const auto whole = layer.causal(q, 20).values;
        for (const size_t piece : {1, 7, 32, 64}) {
            auto parts = std::vector<float>();
            for (size_t t = 0; t < 70; t += piece) {
                const auto n = std::min(piece, 70 - t);
                const auto part = layer.causal(std::span(q).subspan(t * g.width(), n * g.width()),
                                               static_cast<int32_t>(20 + t));
                parts.insert(parts.end(), part.values.begin(), part.values.end());
            }
            EXPECT_EQ(parts, whole) << piece;
        }
    }
}

// A cell outside the window may hold anything, NaN included.
TEST(MetalAttention, ReadsNoCellOutsideTheWindow) {
    auto rig = metal_rig(classic_only());
    const auto g = Geometry{};
    auto clean = Layer(rig, g);
    const auto q = random_floats(g.width() * 2, 36, 2);
    const auto windows = std::vector<Runs>{{{40, 20}}, {{41, 3}, {44, 15}}};
    const auto want = clean.map(q, windows).values;
    auto dirty = clean.v;
    for (size_t cell = 0; cell < g.n_ctx; ++cell)
        if (cell < 40 || cell >= 60)
            std::fill_n(dirty.begin() + static_cast<ptrdiff_t>(cell * g.kv_width()), g.kv_width(),
                        NAN);
    auto k = clean.k;
    for (size_t i = 0; i < k.size(); ++i)
        if (std::isnan(dirty[i])) k[i] = NAN;
    clean.kv = {.k = rig.floats(k), .v = rig.floats(dirty)};
    EXPECT_EQ(clean.map(q, windows).values, want);
}

TEST(MetalAttention, ScoresOfAnySizeStayFiniteAndExact) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width() * 2, 37, 1e4f);
    const auto got = layer.causal(q, 90);
    EXPECT_LE(nmse(got.values, layer.want_causal(q, 90)), kAttentionBar);
}

TEST(MetalAttention, WindowsThatAreEmptyOrLeaveTheArenaAreRefusedWithTheirValues) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(traced(&labels));
    auto layer = Layer(rig);
    const auto q = random_floats(layer.g.width(), 38);
    const auto error = [&](const Cells& window) { return layer.windowed(q, window).error; };
    EXPECT_THAT(error({4, 4}), HasSubstr("window of token 0 is cells [4, 4)"));
    EXPECT_THAT(error({0, 101}), HasSubstr("cells [0, 101), which must not be empty"));
    EXPECT_THAT(error({-1, 3}), HasSubstr("cells [-1, 3)"));
    EXPECT_THAT(error({0, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("window of token 0 has 0 cells"));
    EXPECT_THAT(error({90, 11, 0, 0, 0, 0, 0, 0}), HasSubstr("is 11 cells from cell 90"));
    EXPECT_THAT(error({0, 1, 0, 0, 5, 1, 0, 0}), HasSubstr("an empty run ends the window"));
    EXPECT_THAT(error({0, 1, 2}),
                HasSubstr("window input has 3 elements; for 1 tokens 2 (spans) or 8 (runs)"));
    const auto missing = rig.run(layer.g.op(true), {layer.g.width(), 1, 1, 1},
                                 {rig.floats(q), layer.kv.k, rig.ints(Cells{0})}, layer.kv);
    EXPECT_THAT(missing.error, HasSubstr("window input has 0 elements"));
    EXPECT_THAT(layer.causal(q, 100).error, HasSubstr("position 100 of token 0"));
    EXPECT_THAT(layer.causal(q, -1).error, HasSubstr("position -1 of token 0"));
    EXPECT_EQ(labels.size(), 0u);
    EXPECT_EQ(error({0, 100}), "");
    EXPECT_EQ(error({90, 10, 0, 1, 0, 0, 0, 0}), "");
    EXPECT_EQ(layer.causal(q, 99).error, "");
}

TEST(MetalAttention, GeometriesThatNoKernelRunsAreRefusedWithTheirValues) {
    auto rig = metal_rig(classic_only());
    const auto error = [&](const Geometry& g, std::optional<op::Attention> op = {}) {
        auto layer = Layer(rig, g);
        return layer.run(op.value_or(g.op(false)), random_floats(g.width(), 39), Cells{3}, {})
            .error;
    };
    EXPECT_THAT(error({2, 1, 260, 9}), HasSubstr("heads of 260 elements"));
    EXPECT_THAT(error({2, 1, 66, 9}), HasSubstr("heads of 66 elements, multiples of 4 up to 256"));
    EXPECT_EQ(error({2, 1, 256, 9}), "");
    EXPECT_THAT(error({6, 4, 64, 9}), HasSubstr("6 query heads do not fit to 4 KV heads"));
    EXPECT_EQ(error({8, 4, 64, 9}), "");
    auto other = Geometry{2, 2, 64, 9}.op(false);
    other.layout = kv_layout(KvFormat::F32, 64);
    EXPECT_THAT(error({2, 2, 64, 9}, other),
                HasSubstr("cells of 64 elements, 2 KV heads of 64 need 128"));
}

TEST(MetalAttention, ALayerWithoutRegionsIsRefused) {
    auto rig = metal_rig(classic_only());
    auto layer = Layer(rig);
    const auto q = rig.floats(random_floats(layer.g.width(), 40));
    const auto positions = rig.ints(Cells{3});
    const auto shape = Shape{layer.g.width(), 1, 1, 1};
    const auto op = layer.g.op(false);
    EXPECT_THAT(rig.run(op, shape, {q, layer.kv.k, positions}).error,
                HasSubstr("layer 0 has no KV regions"));
    EXPECT_EQ(rig.run(op, shape, {q, layer.kv.k, positions}, layer.kv).error, "");
}

}  // namespace
}  // namespace minfer::test
