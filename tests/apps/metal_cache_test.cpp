// Types of the KV cache, on a device and on the CPU's exact mode.

#include "apps/cache_stories.h"

namespace minfer {
namespace {

class MetalCache : public testing::TestWithParam<std::string> {};

// 12 tokens more than 62 and than 125: past 64, 65, 128 and 129.
TEST_P(MetalCache, AStoryGoesOnAsOnTheCpu) {
    for (const size_t repeats : {1, 2}) expect_goes_on_alike(repeats, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, MetalCache, testing::Values("f32", "f16", "q8_0"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace minfer
