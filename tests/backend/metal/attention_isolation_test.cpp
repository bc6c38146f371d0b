// Every family of kernels keeps what a query does not see from it.

#include "backend/metal/attention_isolation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/classic_attention.h"

namespace minfer::test {
namespace {

using metal::CellType;

void expect_isolated(const MetalOptions& options, const Geometry& geometry, const Sight& sight) {
    EXPECT_THAT(leaks(options, geometry, sight), testing::IsEmpty())
        << sight.name << " window over " << name(geometry.format) << " cells, heads of "
        << geometry.head_dim;
}

Geometry geometry(CellType type, size_t head_dim = 64) {
    return {.head_dim = head_dim, .n_ctx = 110, .format = format_of(type)};
}

class MetalIsolation : public testing::TestWithParam<CellType> {
  protected:
    MetalOptions options(AttentionOptions attention) const {
        return with_cells(GetParam(), {.attention = attention});
    }
};
INSTANTIATE_TEST_SUITE_P(Cells, MetalIsolation, testing::ValuesIn(metal::kCellTypes),
                         [](const auto& info) { return std::string(metal::name(info.param)); });

TEST_P(MetalIsolation, OfQueriesInTiles) {
    for (const auto& sight : {causal_sight(55, 20), span_sight(), map_sight()})
        expect_isolated(options({}), geometry(GetParam()), sight);
}

TEST_P(MetalIsolation, OfClassicQueries) {
    for (const auto& sight : {causal_sight(55, 20), span_sight(), map_sight()})
        expect_isolated(options(kClassicAttention), geometry(GetParam()), sight);
}

TEST_P(MetalIsolation, OfOneTokenFromCellsPastItsOwn) {
    for (const int32_t position : {0, 31, 69})
        for (const size_t share_from : {1000, 1})
            expect_isolated(options({.share_kv_from = share_from}), geometry(GetParam()),
                            causal_sight(position, 1));
    expect_isolated(options({.stage_packed = true}), geometry(GetParam()), causal_sight(69, 1));
    expect_isolated(options({.flash = false}), geometry(GetParam()), causal_sight(69, 1));
}

TEST(MetalIsolationOfTiles, WhereSimdGroupsHaveUnequalSharesOfAHead) {
    for (const auto type : {CellType::F32, CellType::F16})
        expect_isolated({}, geometry(type, 80), map_sight());
}

TEST(MetalIsolationOfTiles, InBlocksThatNeedNotBeVisited) {
    const auto visits = AttentionOptions{.early_stop = false, .skip_tiles = false};
    for (const auto& sight : {causal_sight(20, 70), map_sight()})
        expect_isolated({.attention = visits}, geometry(CellType::F32), sight);
}

TEST(MetalIsolationOfPasses, OfQueriesInThreePasses) {
    for (const size_t head_dim : {64, 128})
        expect_isolated({.attention = {.prefill_flash = false}}, geometry(CellType::F32, head_dim),
                        causal_sight(55, 20));
}

}  // namespace
}  // namespace minfer::test
