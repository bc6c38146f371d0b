#include "apps/cache_stories.h"

namespace minfer {
namespace {

class LongMetalCache : public testing::TestWithParam<std::string> {};

TEST_P(LongMetalCache, AStoryOfAThousandTokensGoesOnAsOnTheCpu) {
    expect_goes_on_alike(17, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, LongMetalCache, testing::Values("f32", "f16", "q8_0"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace minfer
