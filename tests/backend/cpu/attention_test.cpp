// KvStore and Attention together: what is stored in cells and what a window sees of it.

#include <cmath>

#include "backend/cpu/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuAttention);

using reference::Cells;

struct Geometry {
    size_t n_head = 4, n_head_kv = 2, head_dim = 64, n_ctx = 100;
    size_t width() const { return n_head * head_dim; }
    size_t kv_width() const { return n_head_kv * head_dim; }
    KvLayout layout() const { return kv_layout(KvFormat::F32, kv_width()); }
    op::Attention op() const {
        return {.n_head = n_head,
                .n_head_kv = n_head_kv,
                .head_dim = head_dim,
                .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                .layout = layout(),
                .n_ctx = n_ctx,
                .explicit_span = true};
    }
};

// A backend with one layer whose every cell is filled.
struct Layer {
    explicit Layer(CpuOptions options, Geometry geometry = {})
        : g(geometry),
          rig(options),
          k(random_floats(g.n_ctx * g.kv_width(), 21)),
          v(random_floats(g.n_ctx * g.kv_width(), 22)),
          kv{rig.floats(k), rig.floats(v)} {}

    // Windows as spans [lo, hi) of each token.
    Rig::Outcome spans(std::span<const float> q, const std::vector<std::array<int32_t, 2>>& spans) {
        auto data = Cells();
        for (const auto& span : spans) data.push_back(span[0]);
        for (const auto& span : spans) data.push_back(span[1]);
        return attend(q, data);
    }
    // Windows as (cell, length) runs of each token.
    Rig::Outcome map(std::span<const float> q,
                     const std::vector<std::vector<std::array<int32_t, 2>>>& tokens) {
        auto data = Cells(tokens.size() * 8, 0);
        for (size_t t = 0; t < tokens.size(); ++t)
            for (size_t i = 0; i < tokens[t].size(); ++i)
                for (size_t j = 0; j < 2; ++j) data[t * 8 + i * 2 + j] = tokens[t][i][j];
        return attend(q, data);
    }
    Rig::Outcome attend(std::span<const float> q, const Cells& window) {
        const auto n_tokens = q.size() / g.width();
        return rig.run(g.op(), {g.width(), n_tokens, 1, 1},
                       {rig.floats(q), kv.k, rig.ints(Cells(n_tokens, 0)), rig.ints(window)}, kv);
    }

    std::vector<double> reference(std::span<const float> q, const std::vector<Cells>& windows) {
        return reference::attention(g.op(), reference::widened(q), k, v, windows);
    }

    Geometry g;
    Rig rig;
    std::vector<float> k, v;
    KvPair kv;
};

Cells range(int32_t lo, int32_t hi) {
    auto cells = Cells();
    for (int32_t c = lo; c < hi; ++c) cells.push_back(c);
    return cells;
}

TEST_P(CpuAttention, MatchesDoubleArithmeticOverCausalWindows) {
    for (const auto& g : {Geometry{}, Geometry{.n_head = 3, .n_head_kv = 3, .head_dim = 20},
                          Geometry{.n_head = 14, .n_head_kv = 2, .head_dim = 128, .n_ctx = 300},
                          Geometry{.n_head = 1, .n_head_kv = 1, .head_dim = 1, .n_ctx = 9}}) {
        auto layer = Layer(options(), g);
        const auto q = random_floats(g.width() * 3, 23, 2);
        const auto last = static_cast<int32_t>(g.n_ctx);
        const auto got = layer.spans(q, {{0, 1}, {0, 8}, {0, last}});
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, layer.reference(q, {range(0, 1), range(0, 8), range(0, last)})),
                  kAttentionBar);
    }
}

TEST_P(CpuAttention, AOneCellWindowGivesThatCellsValueBitwise) {
    auto layer = Layer(options());
    const auto q = random_floats(layer.g.width(), 24);
    const auto got = layer.spans(q, {{37, 38}}).values;
    for (size_t h = 0; h < layer.g.n_head; ++h) {
        const auto kv_at = 37 * layer.g.kv_width() + h / 2 * 64;
        EXPECT_TRUE(std::ranges::equal(std::span(got).subspan(h * 64, 64),
                                       std::span(layer.v).subspan(kv_at, 64)));
    }
}

TEST_P(CpuAttention, AWindowShiftedByOneCellGivesAnotherResult) {
    auto layer = Layer(options());
    const auto q = random_floats(layer.g.width(), 25);
    const auto here = layer.spans(q, {{10, 20}}).values;
    const auto shifted = layer.spans(q, {{11, 21}}).values;
    EXPECT_GT(nmse(shifted, here), 1e-3);
    EXPECT_LE(nmse(shifted, layer.reference(q, {range(11, 21)})), kAttentionBar);
}

TEST_P(CpuAttention, RunsOfCellsHaveTheBitsOfTheSameCellsInOneSpan) {
    auto layer = Layer(options());
    const auto q = random_floats(layer.g.width(), 26);
    const auto dense = layer.spans(q, {{5, 45}}).values;
    EXPECT_EQ(layer.map(q, {{{5, 40}}}).values, dense);
    EXPECT_EQ(layer.map(q, {{{5, 1}, {6, 39}}}).values, dense);
    EXPECT_EQ(layer.map(q, {{{5, 13}, {18, 7}, {25, 20}}}).values, dense);
    EXPECT_EQ(layer.map(q, {{{5, 10}, {15, 10}, {25, 10}, {35, 10}}}).values, dense);
}

TEST_P(CpuAttention, ScatteredRunsOfSeveralTokensMatchTheReference) {
    auto layer = Layer(options());
    const auto q = random_floats(layer.g.width() * 2, 27);
    auto first = range(90, 100), second = range(50, 53);
    for (const auto c : range(0, 7)) first.push_back(c);
    for (const auto c : range(1, 2)) second.push_back(c);
    for (const auto c : range(70, 80)) second.push_back(c);
    for (const auto c : range(20, 29)) second.push_back(c);
    const auto got = layer.map(q, {{{90, 10}, {0, 7}}, {{50, 3}, {1, 1}, {70, 10}, {20, 9}}});
    EXPECT_LE(nmse(got.values, layer.reference(q, {first, second})), kAttentionBar);
}

TEST_P(CpuAttention, ATokenHasTheSameBitsAloneAmongOthersAndOnAnyThreadCount) {
    auto alone = Layer(options());
    const auto width = alone.g.width();
    const auto q = random_floats(width * 7, 28);
    auto spans = std::vector<std::array<int32_t, 2>>();
    for (int32_t t = 0; t < 7; ++t) spans.push_back({0, 80 + t});
    auto want = std::vector<float>();
    for (size_t t = 0; t < 7; ++t) {
        const auto got = alone.spans(std::span(q).subspan(t * width, width), {spans[t]}).values;
        want.insert(want.end(), got.begin(), got.end());
    }
    for (const int threads : {1, 2, 5}) {
        auto layer = Layer({.threads = threads, .isa = GetParam()});
        EXPECT_EQ(layer.spans(q, spans).values, want);
    }
}

TEST_P(CpuAttention, LargeScoresDoNotOverflow) {
    auto layer = Layer(options());
    const auto q = random_floats(layer.g.width(), 29, 1e4f);
    const auto got = layer.spans(q, {{0, 100}}).values;
    for (const auto x : got) EXPECT_TRUE(std::isfinite(x));
}

struct BadWindow {
    Cells data;
    const char* message;
};

TEST_P(CpuAttention, WindowsThatAreEmptyOrLeaveTheArenaAreRefusedWithTheirValues) {
    auto layer = Layer(options());
    const auto q = random_floats(layer.g.width(), 30);
    const BadWindow bad[] = {
        {{4, 4}, "window of token 0 is cells [4, 4)"},
        {{0, 101}, "cells [0, 101), which must not be empty and lie in [0, 100)"},
        {{-1, 3}, "cells [-1, 3)"},
        {{7, 3}, "cells [7, 3)"},
        {{0, 0, 0, 0, 0, 0, 0, 0}, "window of token 0 has 0 cells"},
        {{90, 11, 0, 0, 0, 0, 0, 0}, "run 0 of the window of token 0 is 11 cells from cell 90"},
        {{0, 1, -1, 1, 0, 0, 0, 0}, "run 1 of the window of token 0 is 1 cells from cell -1"},
        {{0, 1, 2, -1, 0, 0, 0, 0}, "is -1 cells from cell 2"},
        {{0, 1, 0, 0, 5, 1, 0, 0}, "an empty run ends the window"},
        {{0, 60, 0, 60, 0, 0, 0, 0}, "window of token 0 has 120 cells, 1 to 100"},
        {{0, 1, 2}, "window input has 3 elements; for 1 tokens 2 (spans) or 8 (runs)"},
    };
    for (const auto& [data, message] : bad) {
        const auto error = layer.attend(q, data).error;
        EXPECT_NE(error.find(message), std::string::npos) << error;
    }
    EXPECT_EQ(layer.attend(q, {0, 100}).error, "");
}

TEST_P(CpuAttention, APositionPastTheArenaIsRefused) {
    auto layer = Layer(options());
    const auto q = layer.rig.floats(random_floats(layer.g.width(), 31));
    const auto error =
        layer.rig
            .run(layer.g.op(), {layer.g.width(), 1, 1, 1},
                 {q, layer.kv.k, layer.rig.ints(Cells{100}), layer.rig.ints(Cells{0, 1})}, layer.kv)
            .error;
    EXPECT_NE(error.find("position 100 of token 0, the arena has 100 cells"), std::string::npos)
        << error;
}

TEST_P(CpuAttention, StoreWritesExactlyTheGivenCellsOfBothRegions) {
    auto layer = Layer(options());
    const auto& g = layer.g;
    const auto k = random_floats(g.kv_width() * 3, 32), v = random_floats(g.kv_width() * 3, 33);
    const auto cells = Cells{99, 0, 42};
    const auto store = op::KvStore{.layout = g.layout(), .n_ctx = g.n_ctx};
    const auto in = std::vector{layer.rig.floats(k), layer.rig.floats(v), layer.rig.ints(cells)};
    EXPECT_EQ(layer.rig.execute(store, {g.kv_width(), g.n_ctx, 1, 1}, in, layer.kv.k, layer.kv),
              "");
    auto want_k = layer.k, want_v = layer.v;
    for (size_t t = 0; t < 3; ++t) {
        const auto to = static_cast<size_t>(cells[t]) * g.kv_width();
        std::copy_n(k.begin() + t * g.kv_width(), g.kv_width(), want_k.begin() + to);
        std::copy_n(v.begin() + t * g.kv_width(), g.kv_width(), want_v.begin() + to);
    }
    EXPECT_TRUE(std::ranges::equal(layer.rig.view(layer.kv.k), want_k));
    EXPECT_TRUE(std::ranges::equal(layer.rig.view(layer.kv.v), want_v));
}

TEST_P(CpuAttention, ACellPastTheArenaIsRefusedAndNothingIsWritten) {
    auto layer = Layer(options());
    const auto& g = layer.g;
    const auto rows = layer.rig.floats(random_floats(g.kv_width() * 2, 34));
    const auto store = op::KvStore{.layout = g.layout(), .n_ctx = g.n_ctx};
    for (const int32_t cell : {100, -1}) {
        const auto in = std::vector{rows, rows, layer.rig.ints(Cells{3, cell})};
        const auto error =
            layer.rig.execute(store, {g.kv_width(), g.n_ctx, 1, 1}, in, layer.kv.k, layer.kv);
        EXPECT_NE(error.find(fmt::format("cell {} of token 1, the arena has 100", cell)),
                  std::string::npos)
            << error;
        EXPECT_TRUE(std::ranges::equal(layer.rig.view(layer.kv.k), layer.k));
    }
}

TEST_P(CpuAttention, OtherCellFormatsAreRefused) {
    auto layer = Layer(options());
    auto op = layer.g.op();
    op.layout = kv_layout(KvFormat::Q8_0, layer.g.kv_width());
    EXPECT_FALSE(layer.rig.backend().supports(op, DType::F32));
    EXPECT_FALSE(layer.rig.backend().reads_kv(KvFormat::Q8_0));
    const auto q = layer.rig.floats(random_floats(layer.g.width(), 35));
    const auto error =
        layer.rig
            .run(op, {layer.g.width(), 1, 1, 1},
                 {q, layer.kv.k, layer.rig.ints(Cells{0}), layer.rig.ints(Cells{0, 1})}, layer.kv)
            .error;
    EXPECT_NE(error.find("f32 runs"), std::string::npos) << error;
}

}  // namespace
}  // namespace minfer::test
