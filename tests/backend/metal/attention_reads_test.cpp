// What attention reads and writes, counted by softmetal: tiles against each other and every fast
// family against the classic kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <bit>

#include "backend/metal/attention_rig.h"
#include "backend/metal/cell_types.h"
#include "backend/metal/kernels/attention_prefill.h"
#include "softmetal/control.h"

namespace minfer::test {
namespace {

using metal::CellType;

// Of all kernels of one attention: staging, padding and combining are part of it.
struct Visits {
    uint64_t blocks = 0;      // by all tiles together
    uint64_t bytes = 0;       // read and written, a byte as often as it is
    uint64_t simdgroups = 0;  // of the kernel that reads the cells
};
double ratio(uint64_t a, uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); }
double operator/(const Visits& a, const Visits& b) {
    return std::max(ratio(a.blocks, b.blocks), ratio(a.bytes, b.bytes));
}

// `attend` runs the attention of a layer of this geometry and these cells.
template <class Attend>
Visits visits_of(AttentionOptions options, Geometry geometry, CellType cells, Attend attend) {
    auto* const device = MTL::CreateSystemDefaultDevice();  // that of the backend
    auto rig = metal_rig(with_cells(cells, {.attention = options}));
    geometry.format = format_of(cells);
    auto layer = Layer(rig, geometry);
    softmetal::set_memory_counters(device, true);
    softmetal::reset_counters(device);
    EXPECT_EQ(attend(layer).error, "");
    auto found = Visits();
    for (const auto& kernel : softmetal::counters(device)) {
        if (kernel.dispatches == 0) continue;
        found.bytes += kernel.read_bytes + kernel.written_bytes;
        found.simdgroups = std::max(found.simdgroups, kernel.threads / 32);
        // One barrier before a tile's first block, three for each.
        if (kernel.kernel.starts_with("attention_prefill"))
            found.blocks = (kernel.barriers - kernel.threads / kPrefillThreads) / 3;
    }
    softmetal::set_memory_counters(device, false);
    device->release();
    return found;
}

constexpr CellType kCells[] = {CellType::F32, CellType::F16, CellType::Q8_0Split};
constexpr size_t kTokens = 256, kTiles = kTokens / 8, kPrefix = 128;
// Beside K and V a tile reads queries and windows, about a twentieth of a block.
constexpr double kBar = 1.25;

// One prefill of kTokens tokens.
class MetalPrefillVisits : public testing::TestWithParam<CellType> {
  protected:
    template <class Attend>
    Visits visits(AttentionOptions options, Attend attend) {
        const auto g = Geometry{1, 1, 64, 2 * kPrefix + 2 * kTokens + 1000};
        const auto q = random_floats(g.width() * kTokens, 81);
        return visits_of(options, g, GetParam(), [&](Layer& layer) { return attend(layer, q); });
    }

    Visits causal(AttentionOptions options, size_t first = 0) {
        return visits(options, [&](Layer& layer, std::span<const float> q) {
            return layer.causal(q, static_cast<int32_t>(first));
        });
    }
    Visits spans(AttentionOptions options, const std::vector<Span>& windows) {
        return visits(options, [&](Layer& layer, std::span<const float> q) {
            return layer.spans(q, windows);
        });
    }
    // A prefix that is read in place, and tokens of its own from cell `own` on.
    Visits prefixed(AttentionOptions options, int32_t own) {
        auto windows = std::vector<Runs>();
        for (int32_t t = 0; t < int32_t{kTokens}; ++t)
            windows.push_back({{0, int32_t{kPrefix}}, {own, t + 1}});
        return visits(
            options, [&](Layer& layer, std::span<const float> q) { return layer.map(q, windows); });
    }
};

std::vector<Span> sequence(int32_t first, size_t n_tokens) {
    auto windows = std::vector<Span>();
    for (int32_t t = 0; t < static_cast<int32_t>(n_tokens); ++t)
        windows.push_back({first, first + t + 1});
    return windows;
}

// Blocks that a tile of eight tokens sees part of, for tokens that follow `first` others.
uint64_t causal_blocks(size_t first = 0) {
    uint64_t blocks = 0;
    for (size_t tile = 1; tile <= kTiles; ++tile) blocks += (first + tile * 8 + 63) / 64;
    return blocks;
}

INSTANTIATE_TEST_SUITE_P(Cells, MetalPrefillVisits, testing::ValuesIn(kCells),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(MetalPrefillVisits, StoppingEarlyVisitsTheBlocksThatATileSeesAndNoOthers) {
    const auto stops = causal({}), goes_on = causal({.early_stop = false});
    EXPECT_EQ(stops.blocks, causal_blocks());
    EXPECT_EQ(goes_on.blocks, kTiles * kTokens / 64);
    EXPECT_LT(stops.bytes, goes_on.bytes);
    EXPECT_EQ(causal({}, kPrefix).blocks, causal_blocks(kPrefix));
}

TEST_P(MetalPrefillVisits, SkippingVisitsTheBlocksThatATileSeesAndNoOthers) {
    // The second half of the tokens follows after 1000 cells that nobody sees.
    auto windows = sequence(0, kTokens / 2);
    for (const auto& span : sequence(1000 + kTokens / 2, kTokens / 2)) windows.push_back(span);
    const auto skips = spans({}, windows), visits = spans({.skip_tiles = false}, windows);
    uint64_t want = 0;
    for (size_t tile = 1; tile <= kTiles / 2; ++tile) {
        const auto begin = 1000 + kTokens / 2, end = begin + tile * 8;
        want += (tile * 8 + 63) / 64 + (end + 63) / 64 - begin / 64;
    }
    EXPECT_EQ(skips.blocks, want);
    EXPECT_EQ(visits.blocks, kTiles * ((1000 + kTokens + 63) / 64));
    EXPECT_LT(skips / visits, 0.3);
}

// A causal prefill of the same number of tokens; where there is a prefix, behind one as long.
TEST_P(MetalPrefillVisits, a_windowed_prefill_visits_at_most_a_quarter_more_than_a_causal_one) {
    const auto alone = causal({});
    auto two = sequence(0, kTokens / 2);
    for (const auto& span : sequence(kTokens / 2, kTokens / 2)) two.push_back(span);
    EXPECT_LE(spans({}, two) / alone, kBar) << "two sequences";
    EXPECT_LE(spans({}, sequence(128, kTokens)) / alone, kBar) << "behind a holder";
    EXPECT_LE(spans({}, sequence(75, kTokens)) / alone, kBar) << "behind a holder of any length";

    const auto behind = causal({}, kPrefix);
    EXPECT_LE(prefixed({}, kPrefix) / behind, kBar) << "prefix and own run adjacent";
    EXPECT_LE(prefixed({}, kPrefix + 1000) / behind, kBar) << "prefix and own run far apart";
    EXPECT_GT(prefixed({.skip_tiles = false}, kPrefix + 1000) / behind, 2 * kBar);
}

constexpr size_t kHeadSizes[] = {64, 80, 96, 112, 128, 256};

struct FastAndClassic {
    Visits fast, classic;
};
FastAndClassic both(const Geometry& g, CellType cells, size_t n_tokens) {
    const auto q = random_floats(g.width() * n_tokens, 82);
    const auto run = [&](Layer& layer) {
        return layer.causal(q, static_cast<int32_t>(g.n_ctx - n_tokens));
    };
    return {visits_of({}, g, cells, run), visits_of(kClassicAttention, g, cells, run)};
}

// Eight queries read a block together. Expanding packed cells is not paid back by few tokens.
TEST(MetalReads, TilesOfEveryHeadSizeMoveAThirdOfTheBytesOfTheClassicKernel) {
    for (const auto head_dim : kHeadSizes)
        for (const auto cells : kCells) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(cells), head_dim));
            const auto [fast, classic] = both({2, 2, head_dim, 128}, cells, 32);
            EXPECT_LT(ratio(fast.bytes, classic.bytes), 1.0 / 3);
        }
}

// As many times more SIMD groups as there are chunks, for no more bytes than the dimensions that
// lanes past the head's last one read for nothing.
TEST(MetalReads, ChunksOfEveryHeadSizeSpreadOutTheBytesOfTheClassicKernel) {
    for (const auto head_dim : kHeadSizes)
        for (const auto cells : kCells) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(cells), head_dim));
            const auto [fast, classic] = both({8, 2, head_dim, 300}, cells, 1);
            const auto lanes = static_cast<double>(std::bit_ceil(head_dim));
            EXPECT_LT(ratio(fast.bytes, classic.bytes),
                      1.1 * lanes / static_cast<double>(head_dim));
            EXPECT_EQ(fast.simdgroups, 10 * classic.simdgroups);
        }
}

// The order of quants before scales is for wide loads alone.
TEST(MetalReads, BothOrdersOfQ8_0CellsMoveTheSameBytes) {
    for (const size_t n_tokens : {1, 9}) {
        const auto g = Geometry{4, 2, 128, 100};
        const auto blocks = both(g, CellType::Q8_0, n_tokens);
        const auto split = both(g, CellType::Q8_0Split, n_tokens);
        EXPECT_NEAR(ratio(split.fast.bytes, blocks.fast.bytes), 1, 0.02);
        EXPECT_NEAR(ratio(split.classic.bytes, blocks.classic.bytes), 1, 0.02);
        // And a quarter of what f32 cells take, where they are read as they are.
        const auto plain = both(g, CellType::F32, n_tokens);
        if (n_tokens == 1) EXPECT_LT(ratio(split.fast.bytes, plain.fast.bytes), 0.5);
    }
}

}  // namespace
}  // namespace minfer::test
