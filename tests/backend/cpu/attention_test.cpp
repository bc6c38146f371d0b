// Attention over cells of every format: what a window sees of them.

#include <gmock/gmock.h>

#include <cmath>

#include "backend/cpu/rig.h"
#include "support/attention_cells.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuAttention);

using testing::HasSubstr;

// A backend with one layer whose every cell is filled.
struct Layer {
    explicit Layer(CpuOptions options, Geometry geometry = {}, KvFormat format = KvFormat::F32)
        : g(with(format, geometry)), rig(options), cells(rig, g.layout(), g.n_ctx) {}

    op::Attention op() const { return g.op(true); }

    Rig::Outcome spans(std::span<const float> q, const std::vector<Span>& windows) {
        return attend(q, span_input(windows));
    }
    Rig::Outcome map(std::span<const float> q, const std::vector<Runs>& windows) {
        return attend(q, map_input(windows));
    }
    Rig::Outcome attend(std::span<const float> q, const Cells& window) {
        return attend(op(), q, window, cells.kv);
    }
    Rig::Outcome attend(const op::Attention& op, std::span<const float> q, const Cells& window,
                        std::optional<KvPair> kv) {
        const auto n_tokens = q.size() / g.width();
        return rig.run(op, {g.width(), n_tokens, 1, 1},
                       {rig.floats(q), cells.kv.k, rig.ints(Cells(n_tokens, 0)), rig.ints(window)},
                       kv);
    }

    std::vector<double> reference(std::span<const float> q, const std::vector<Cells>& windows) {
        return reference::attention(op(), reference::widened(q), cells.k, cells.v, windows);
    }

    static Geometry with(KvFormat format, Geometry geometry) {
        geometry.format = format;
        return geometry;
    }

    Geometry g;
    Rig rig;
    KvCells cells;
};

// The query as scores over q8_0 cells take it outside of exact mode: 32 values to a scale.
std::vector<float> in_8_bits(std::vector<float> q) {
    for (size_t b = 0; b < q.size(); b += 32) {
        const auto block = std::span(q).subspan(b, 32);
        float largest = 0;
        for (const float x : block) largest = std::max(largest, std::fabs(x));
        for (float& x : block) x = largest / 127 * std::nearbyint(x * (127 / largest));
    }
    return q;
}

// Only q8_0 cells are read differently in the two modes.
constexpr std::pair<KvFormat, CpuActivations> kEveryWay[] = {
    {KvFormat::F32, CpuActivations::F32},
    {KvFormat::F16, CpuActivations::F32},
    {KvFormat::Q8_0, CpuActivations::F32},
    {KvFormat::Q8_0, CpuActivations::Quantized},
};

TEST_P(CpuAttention, MatchesDoubleArithmeticOverCellsOfEveryFormat) {
    for (const auto& g :
         {Geometry{}, Geometry{.n_head = 14, .n_head_kv = 2, .head_dim = 128, .n_ctx = 300},
          Geometry{.n_head = 16, .n_head_kv = 8, .head_dim = 20},
          Geometry{.n_head = 2, .n_head_kv = 2, .head_dim = 80},
          Geometry{.n_head = 6, .n_head_kv = 2, .head_dim = 96},
          Geometry{.n_head = 2, .n_head_kv = 1, .head_dim = 256},
          Geometry{.n_head = 3, .n_head_kv = 3, .head_dim = 32},
          Geometry{.n_head = 32, .n_head_kv = 32, .head_dim = 1, .n_ctx = 9}})
        for (const auto& [format, activations] : kEveryWay) {
            SCOPED_TRACE(fmt::format("heads of {}, {} cells", g.head_dim, name(format)));
            auto layer = Layer({.activations = activations, .isa = GetParam()}, g, format);
            auto q = random_floats(g.width() * 3, 23, 2);
            const auto last = static_cast<int32_t>(g.n_ctx);
            const auto got = layer.spans(q, {{0, 1}, {0, 8}, {3, last}});
            EXPECT_EQ(got.error, "");
            if (format == KvFormat::Q8_0 && activations == CpuActivations::Quantized &&
                g.head_dim % 32 == 0)
                q = in_8_bits(std::move(q));
            const auto want = layer.reference(q, {range(0, 1), range(0, 8), range(3, last)});
            EXPECT_LE(nmse(got.values, want), kAttentionBar);
        }
}

TEST_P(CpuAttention, OnlyHeadsOfWholeBlocksMeetTheQueryIn8Bits) {
    for (const size_t head_dim : {64, 80}) {
        const auto g = Geometry{.head_dim = head_dim};
        const auto q = random_floats(g.width(), 36);
        const auto values = [&](CpuActivations activations) {
            auto layer = Layer({.activations = activations, .isa = GetParam()}, g, KvFormat::Q8_0);
            return layer.spans(q, {{0, 100}}).values;
        };
        const auto exact = values(CpuActivations::F32);
        const auto quantized = values(CpuActivations::Quantized);
        EXPECT_EQ(quantized == exact, head_dim == 80);
        EXPECT_LE(nmse(quantized, exact), kQuantizedActivationBar);
    }
}

TEST_P(CpuAttention, AOneCellWindowGivesThatCellsValueBitwise) {
    for (const auto& [format, activations] : kEveryWay) {
        auto layer = Layer({.activations = activations, .isa = GetParam()}, {}, format);
        const auto q = random_floats(layer.g.width(), 24);
        const auto got = layer.spans(q, {{37, 38}}).values;
        for (size_t h = 0; h < layer.g.n_head; ++h) {
            const auto kv_at = 37 * layer.g.kv_width() + h / 2 * 64;
            EXPECT_TRUE(std::ranges::equal(std::span(got).subspan(h * 64, 64),
                                           std::span(layer.cells.v).subspan(kv_at, 64)));
        }
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
    for (const auto& [format, activations] : kEveryWay) {
        auto layer = Layer({.activations = activations, .isa = GetParam()}, {}, format);
        const auto q = random_floats(layer.g.width(), 26);
        const auto dense = layer.spans(q, {{5, 45}}).values;
        EXPECT_EQ(layer.map(q, {{{5, 40}}}).values, dense);
        EXPECT_EQ(layer.map(q, {{{5, 1}, {6, 39}}}).values, dense);
        EXPECT_EQ(layer.map(q, {{{5, 13}, {18, 7}, {25, 20}}}).values, dense);
        EXPECT_EQ(layer.map(q, {{{5, 10}, {15, 10}, {25, 10}, {35, 10}}}).values, dense);
    }
}

TEST_P(CpuAttention, ScatteredRunsOfSeveralTokensMatchTheReference) {
    auto first = range(90, 100), second = range(50, 53);
    for (const auto c : range(0, 7)) first.push_back(c);
    for (const auto c : range(1, 2)) second.push_back(c);
    for (const auto c : range(70, 80)) second.push_back(c);
    for (const auto c : range(20, 29)) second.push_back(c);
    for (const auto format : kKvFormats) {
        auto layer = Layer({.activations = CpuActivations::F32, .isa = GetParam()}, {}, format);
        const auto q = random_floats(layer.g.width() * 2, 27);
        const auto got = layer.map(q, {{{90, 10}, {0, 7}}, {{50, 3}, {1, 1}, {70, 10}, {20, 9}}});
        EXPECT_LE(nmse(got.values, layer.reference(q, {first, second})), kAttentionBar);
    }
}

TEST_P(CpuAttention, ATokenHasTheSameBitsAloneAmongOthersAndOnAnyThreadCount) {
    auto settings = options();
    for (const auto& [format, activations] : kEveryWay) {
        settings.activations = activations;
        settings.threads = 1;
        auto alone = Layer(settings, {}, format);
        const auto width = alone.g.width();
        const auto q = random_floats(width * 7, 28);
        auto spans = std::vector<Span>();
        for (int32_t t = 0; t < 7; ++t) spans.push_back({0, 80 + t});
        auto want = std::vector<float>();
        for (size_t t = 0; t < 7; ++t) {
            const auto got = alone.spans(std::span(q).subspan(t * width, width), {spans[t]}).values;
            want.insert(want.end(), got.begin(), got.end());
        }
        for (settings.threads = 1; settings.threads <= 5; settings.threads += 2) {
            auto layer = Layer(settings, {}, format);
            EXPECT_EQ(layer.spans(q, spans).values, want);
        }
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

TEST_P(CpuAttention, ACellThatIsNoNumberShows) {
    for (const auto& [format, activations] : kEveryWay) {
        auto layer = Layer({.activations = activations, .isa = GetParam()}, {}, format);
        auto row = random_floats(layer.g.kv_width(), 39);
        row[3] = NAN;  // of the first of two heads
        const auto store = op::KvStore{.layout = layer.cells.layout, .n_ctx = layer.g.n_ctx};
        const auto in =
            std::vector{layer.rig.floats(row), layer.rig.floats(random_floats(row.size(), 40)),
                        layer.rig.ints(Cells{7})};
        const auto& kv = layer.cells.kv;
        EXPECT_EQ(layer.rig.execute(store, {row.size(), layer.g.n_ctx, 1, 1}, in, kv.k, kv), "");
        const auto q = random_floats(layer.g.width(), 37);
        const auto beside = layer.spans(q, {{8, 40}}).values;
        const auto over = layer.spans(q, {{0, 40}}).values;
        EXPECT_TRUE(std::ranges::none_of(beside, [](float x) { return std::isnan(x); }));
        for (size_t i = 0; i < over.size(); ++i)
            EXPECT_EQ(std::isnan(over[i]), i < over.size() / 2) << i;
    }
}

TEST_P(CpuAttention, APositionPastTheArenaIsRefused) {
    auto layer = Layer(options());
    const auto q = layer.rig.floats(random_floats(layer.g.width(), 31));
    const auto error =
        layer.rig
            .run(layer.op(), {layer.g.width(), 1, 1, 1},
                 {q, layer.cells.kv.k, layer.rig.ints(Cells{100}), layer.rig.ints(Cells{0, 1})},
                 layer.cells.kv)
            .error;
    EXPECT_NE(error.find("position 100 of token 0, the arena has 100 cells"), std::string::npos)
        << error;
}

TEST_P(CpuAttention, CellsThatDoNotFitTheOperationAreRefused) {
    for (const auto format : kKvFormats) {
        auto layer = Layer(options(), {}, format);
        const auto q = random_floats(layer.g.width(), 35);
        const auto error = [&](auto change) {
            auto op = layer.op();
            auto kv = std::optional(layer.cells.kv);
            change(op, kv);
            return layer.attend(op, q, {0, 1}, kv).error;
        };
        EXPECT_EQ(error([](auto&, auto&) {}), "");
        EXPECT_THAT(
            error([](auto& op, auto&) { op.layout.row_bytes += 4; }),
            HasSubstr(fmt::format("{} cells of 128 elements have {} bytes, not {}", name(format),
                                  layer.cells.layout.row_bytes, layer.cells.layout.row_bytes + 4)));
        EXPECT_THAT(error([&](auto& op, auto&) { op.layout = kv_layout(format, 64); }),
                    HasSubstr("2 KV heads of 64 and cells of 64 elements do not fit together"));
        EXPECT_THAT(error([](auto&, auto& kv) { kv.reset(); }), HasSubstr("has no KV regions"));
        EXPECT_THAT(error([](auto&, auto& kv) { kv->v.bytes -= 4; }),
                    HasSubstr(fmt::format("100 cells of {} need {}", layer.cells.layout.row_bytes,
                                          layer.cells.kv.k.bytes)));
    }
}

TEST_P(CpuAttention, CellsOfBlocksThatAreNotWholeAreRefused) {
    const auto g = Geometry{.n_head_kv = 1, .head_dim = 40};
    for (const auto format : kKvFormats) {
        auto layer = Layer(options(), g);  // memory enough for all
        auto op = layer.op();
        op.layout = kv_layout(format, g.kv_width());
        const auto q = random_floats(g.width(), 38);
        const auto error = layer.attend(op, q, {0, 1}, layer.cells.kv).error;
        if (format != KvFormat::Q8_0)
            EXPECT_EQ(error, "");
        else
            EXPECT_THAT(error, HasSubstr("q8_0 cells of 40 elements, a multiple of 32 is allowed"));
    }
}

}  // namespace
}  // namespace minfer::test
