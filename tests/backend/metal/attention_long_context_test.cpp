// The grid of attention_grid.h over a long context.

#include "backend/metal/attention_grid.h"

namespace minfer::test {
namespace {

class MetalLongContext : public MetalKind {
  protected:
    Layer layer_ = layer(kManyCells + 128, 1);
    std::vector<float> q_ = queries(layer_, kManyTokens);
};

INSTANTIATE_TEST_SUITE_P(Kinds, MetalLongContext, testing::ValuesIn(kKinds), kind_name);

TEST_P(MetalLongContext, flash_prefill_matches_the_cpu_reference) {
    expect_causal(layer_, q_, kManyCells);
}

TEST_P(MetalLongContext, window_flash_matches_the_cpu_reference) {
    for (const auto first : kFirstCells) expect_spans(layer_, q_, first, kManyCells);
}

TEST_P(MetalLongContext, window_map_flash_matches_the_cpu_reference) {
    for (const auto first : kFirstCells)
        for (const auto gap : kGaps) expect_maps(layer_, q_, first, kManyCells, gap);
}

}  // namespace
}  // namespace minfer::test
