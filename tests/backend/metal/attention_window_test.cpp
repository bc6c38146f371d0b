#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention_grid.h"
#include "backend/metal/context.h"

namespace minfer::test {
namespace {

class MetalWindow : public MetalKind {
  protected:
    Layer layer_ = layer(340);
    std::vector<float> many_ = queries(layer_, kManyTokens), few_ = queries(layer_, 9);
};

INSTANTIATE_TEST_SUITE_P(Kinds, MetalWindow, testing::ValuesIn(kKinds), kind_name);

TEST_P(MetalWindow, window_flash_matches_the_cpu_reference) {
    for (const auto first : kFirstCells) {
        expect_spans(layer_, many_, first, kManyTokens);
        for (const auto n_cells : kCellCounts) expect_spans(layer_, few_, first, n_cells);
    }
}

TEST_P(MetalWindow, window_map_flash_matches_the_cpu_reference) {
    for (const auto first : kFirstCells)
        for (const auto gap : kGaps) {
            expect_maps(layer_, many_, first, kManyTokens + 30, gap);
            for (const auto n_cells : kCellCounts) expect_maps(layer_, few_, first, n_cells, gap);
        }
}

TEST(MetalWindows, EveryOtherHeadSizeMatchesTheReference) {
    auto rig = metal_rig();
    for (const size_t head_dim : {80, 96, 112, 256}) {
        auto layer = Layer(rig, {.n_head = 2, .n_head_kv = 1, .head_dim = head_dim, .n_ctx = 160});
        const auto q = random_floats(layer.g.width() * 20, 63, 2);
        EXPECT_LE(error_of(layer, q, growing_spans(70, 20)), kAttentionBar) << head_dim;
        EXPECT_LE(error_of(layer, q, growing_maps(3, 40, 60, 20)), kAttentionBar) << head_dim;
    }
}

// Two sequences and a token with all four runs, out of order and overlapping a block's bounds.
TEST(MetalWindows, QueriesOfATileMaySeeDifferentCells) {
    auto rig = metal_rig();
    auto layer = Layer(rig, {.n_ctx = 400});
    const auto q = random_floats(layer.g.width() * 3, 64, 2);
    EXPECT_LE(error_of(layer, q, std::vector<Span>{{350, 400}, {1, 2}, {63, 129}}), kAttentionBar);
    EXPECT_LE(
        error_of(layer, q,
                 std::vector<Runs>{
                     {{390, 10}, {0, 7}, {127, 2}, {60, 9}}, {{200, 1}}, {{64, 64}, {300, 65}}}),
        kAttentionBar);
}

TEST(MetalWindows, SpansAndMapsOfTheSameCellsHaveTheSameBits) {
    auto rig = metal_rig();
    auto layer = Layer(rig, {.n_ctx = 200});
    const auto q = random_floats(layer.g.width() * 40, 65, 2);
    auto maps = std::vector<Runs>();
    for (int32_t t = 0; t < 40; ++t) maps.push_back({{5, 13}, {18, 70}, {88, t + 1}});
    auto spans = std::vector<Span>();
    for (int32_t t = 0; t < 40; ++t) spans.push_back({5, 89 + t});
    EXPECT_EQ(layer.map(q, maps).values, layer.spans(q, spans).values);
    // Windows from cell 0 on are those of a prompt.
    EXPECT_EQ(layer.spans(q, growing_spans(0, 40)).values, layer.causal(q, 0).values);
}

TEST(MetalWindows, SkippingBlocksThatATileDoesNotSeeLeavesEveryBit) {
    auto skips = metal_rig(), visits = metal_rig({.attention = {.skip_tiles = false}});
    auto layer = Layer(skips, {.n_ctx = 500}), other = Layer(visits, {.n_ctx = 500});
    const auto q = random_floats(layer.g.width() * 24, 66, 2);
    // A block and a run may meet in one cell, at either end of both.
    for (const auto& maps : {growing_maps(0, 64, 256, 24), growing_maps(1, 64, 254, 24),
                             growing_maps(63, 1, 330, 24), growing_maps(9, 100, 300, 24)}) {
        const auto got = layer.map(q, maps);
        EXPECT_EQ(got.error, "");
        EXPECT_EQ(got.values, other.map(q, maps).values);
        EXPECT_LE(nmse(got.values, layer.want(q, cells_of(maps))), kAttentionBar);
    }
    auto spans = growing_spans(0, 12);
    for (const auto& span : growing_spans(320, 12)) spans.push_back(span);
    EXPECT_EQ(layer.spans(q, spans).values, other.spans(q, spans).values);
}

TEST(MetalWindows, CellsOutsideOfAllWindowsMayHoldAnything) {
    auto rig = metal_rig();
    auto layer = Layer(rig, {.n_ctx = 300});
    const auto q = random_floats(layer.g.width() * 20, 67, 2);
    const auto spans = growing_spans(90, 20);
    const auto maps = growing_maps(90, 10, 0, 20);
    const auto want_spans = layer.spans(q, spans).values, want_maps = layer.map(q, maps).values;
    auto dirty = layer;
    for (auto* const cells : {&dirty.k, &dirty.v}) {
        const auto at = [&](size_t cell) {
            return cells->begin() + static_cast<ptrdiff_t>(cell * layer.g.kv_width());
        };
        std::fill(at(0), at(90), NAN);
        std::fill(at(120), at(300), NAN);
    }
    dirty.kv = {.k = rig.floats(dirty.k), .v = rig.floats(dirty.v)};
    EXPECT_EQ(dirty.map(q, maps).values, want_maps);
    EXPECT_EQ(dirty.spans(q, spans).values, want_spans);
}

// The backend refuses such windows before they come to the kernel.
TEST(MetalWindows, AQueryThatSeesNoCellGetsZeros) {
    const metal::AutoreleaseScope scope;
    auto made = metal::Context::create({});
    ASSERT_TRUE(made) << made.error().what;
    auto& context = **made;
    auto buffers = std::vector<metal::Buffer>();
    const auto upload = [&](std::span<const std::byte> bytes) {
        buffers.push_back(*context.device->copy(bytes));
        return metal::Slice{.buffer = buffers.back().get(), .bytes = bytes.size()};
    };
    const auto floats = [&](size_t count, uint32_t seed) {
        const auto values = random_floats(count, seed);
        return upload(std::as_bytes(std::span(values)));
    };
    constexpr size_t kCells = 40, kDim = 64;
    const auto shape = metal::AttentionShape{.n_tokens = 3,
                                             .n_head = 1,
                                             .n_head_kv = 1,
                                             .head_dim = kDim,
                                             .n_ctx = kCells,
                                             .explicit_span = true};
    const auto scratch = context.kernels.attention.prepare(*context.device, shape, {});
    ASSERT_TRUE(scratch) << scratch.error().what;
    auto call = metal::AttentionCall{.n_tokens = 3,
                                     .n_head = 1,
                                     .n_head_kv = 1,
                                     .head_dim = kDim,
                                     .n_ctx = kCells,
                                     .cell_bytes = kDim * sizeof(float),
                                     .q = floats(3 * kDim, 69),
                                     .k = floats(kCells * kDim, 70),
                                     .v = floats(kCells * kDim, 71),
                                     .out = floats(3 * kDim, 72),
                                     .end_cell = kCells,
                                     .scratch = floats(*scratch / sizeof(float), 73)};
    const auto spans = span_input({{3, 9}, {20, 20}, {0, 40}});
    const auto maps = map_input({{{3, 6}}, {}, {{0, 30}, {30, 10}}});
    for (const auto kind : {kWindowSpan, kWindowMap}) {
        call.window_kind = kind;
        call.window = upload(std::as_bytes(std::span(kind == kWindowSpan ? spans : maps)));
        ASSERT_TRUE(metal::run_prefill(context, call));
        ASSERT_TRUE(context.submit());
        const auto got = std::span(reinterpret_cast<const float*>(call.out.host()), 3 * kDim);
        EXPECT_THAT(got.subspan(kDim, kDim), testing::Each(0.0f));
        EXPECT_THAT(got.first(kDim), testing::Each(testing::Ne(0.0f)));
        EXPECT_THAT(got.last(kDim), testing::Each(testing::Ne(0.0f)));
    }
}

TEST(MetalWindows, OneTokenAndASwitchThatIsOffTakeOtherKernels) {
    const auto labels_of = [](AttentionOptions attention, int32_t n_tokens) {
        auto labels = std::vector<std::string>();
        auto options = traced(&labels);
        options.attention = attention;
        auto rig = metal_rig(options);
        auto layer = Layer(rig);
        const auto q = random_floats(layer.g.width() * static_cast<size_t>(n_tokens), 68);
        EXPECT_EQ(layer.spans(q, growing_spans(3, n_tokens)).error, "");
        return labels;
    };
    using Labels = std::vector<std::string>;
    EXPECT_EQ(labels_of({}, 2), (Labels{"attention_tail_pad", "attention_prefill_f32_64_span"}));
    EXPECT_EQ(labels_of({}, 1), Labels{"attention_f32"});
    EXPECT_EQ(labels_of({.window_flash = false}, 2), Labels{"attention_f32"});
}

}  // namespace
}  // namespace minfer::test
