// What tiles of queries visit of the cells, counted by softmetal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Metal/Metal.hpp>

#include "backend/metal/attention_rig.h"
#include "softmetal/control.h"

namespace minfer::test {
namespace {

struct Visits {
    uint64_t blocks = 0;  // by all tiles together
    uint64_t bytes = 0;   // read, a byte as often as it is read
};
double operator/(const Visits& a, const Visits& b) {
    return std::max(static_cast<double>(a.blocks) / static_cast<double>(b.blocks),
                    static_cast<double>(a.bytes) / static_cast<double>(b.bytes));
}

constexpr size_t kTokens = 256, kTiles = kTokens / 8, kPrefix = 128;
// Beside K and V a tile reads queries and windows, about a twentieth of a block.
constexpr double kBar = 1.25;

class MetalPrefillVisits : public testing::Test {
  protected:
    // Of one prefill of kTokens tokens that `attend` computes.
    template <class Attend>
    Visits visits(AttentionOptions options, Attend attend) {
        auto* const device = MTL::CreateSystemDefaultDevice();  // that of the backend
        auto rig = metal_rig({.attention = options});
        auto layer =
            Layer(rig, {.n_head = 1, .n_head_kv = 1, .n_ctx = 2 * kPrefix + 2 * kTokens + 1000});
        softmetal::set_memory_counters(device, true);
        softmetal::reset_counters(device);
        const auto q = random_floats(layer.g.width() * kTokens, 81);
        EXPECT_EQ(attend(layer, q).error, "");
        auto found = Visits();
        for (const auto& kernel : softmetal::counters(device)) {
            if (!kernel.kernel.starts_with("attention_prefill") || kernel.dispatches == 0) continue;
            // One barrier before the first block, three for each.
            found = {.blocks = (kernel.barriers - kTiles) / 3, .bytes = kernel.read_bytes};
        }
        softmetal::set_memory_counters(device, false);
        device->release();
        return found;
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

TEST_F(MetalPrefillVisits, StoppingEarlyVisitsTheBlocksThatATileSeesAndNoOthers) {
    const auto stops = causal({}), goes_on = causal({.early_stop = false});
    EXPECT_EQ(stops.blocks, causal_blocks());
    EXPECT_EQ(goes_on.blocks, kTiles * kTokens / 64);
    EXPECT_LT(stops / goes_on, 0.7);
    EXPECT_EQ(causal({}, kPrefix).blocks, causal_blocks(kPrefix));
}

TEST_F(MetalPrefillVisits, SkippingVisitsTheBlocksThatATileSeesAndNoOthers) {
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
    EXPECT_LT(skips / visits, 0.2);
}

// A causal prefill of the same number of tokens; where there is a prefix, behind one as long.
TEST_F(MetalPrefillVisits, a_windowed_prefill_visits_at_most_a_quarter_more_than_a_causal_one) {
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

}  // namespace
}  // namespace minfer::test
