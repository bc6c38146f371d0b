// What of packed cells is expanded for tiles, counted by softmetal.

#include <gtest/gtest.h>

#include <Metal/Metal.hpp>

#include "backend/metal/attention_rig.h"
#include "softmetal/control.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

struct Expanded {
    uint64_t dispatches = 0, cells = 0;
    bool operator==(const Expanded&) const = default;
};

// What of the cells two tokens' kernels expand, by the bytes that softmetal sees written.
Expanded expanded(const std::vector<Runs>& windows, AttentionOptions options = {}) {
    auto* const device = MTL::CreateSystemDefaultDevice();  // that of the backend
    auto rig = metal_rig({.attention = options});
    auto layer = Layer(rig, {.n_head = 4, .n_ctx = 3000, .format = KvFormat::Q8_0});
    softmetal::set_memory_counters(device, true);
    softmetal::reset_counters(device);
    const auto q = random_floats(layer.g.width() * windows.size(), 76, 2);
    const auto got = layer.map(q, windows);
    EXPECT_EQ(got.error, "");
    EXPECT_LE(nmse(got.values, layer.want(q, cells_of(windows))), kAttentionBar);
    auto found = Expanded();
    for (const auto& kernel : softmetal::counters(device))
        if (kernel.kernel == "kv_dequantize_q8_0_split")
            found = {.dispatches = kernel.dispatches,
                     .cells = kernel.written_bytes / (2 * layer.g.kv_width() * sizeof(float))};
    softmetal::set_memory_counters(device, false);
    device->release();
    return found;
}

TEST(MetalStageReads, AGapBetweenRunsCostsNothing) {
    const auto apart = [](int32_t own) {
        return std::vector<Runs>{{{0, 128}, {own, 1}}, {{0, 128}, {own, 2}}};
    };
    EXPECT_EQ(expanded(apart(128)), (Expanded{1, 130}));
    EXPECT_EQ(expanded(apart(128 + 64 * 40)), (Expanded{2, 130}));
    EXPECT_EQ(expanded(apart(128 + 64 * 40 + 63)), (Expanded{2, 128 + 65})) << "two last blocks";
    // Tiles that visit every block read every block.
    EXPECT_EQ(expanded(apart(128 + 64 * 40), {.skip_tiles = false}), (Expanded{1, 130 + 64 * 40}));
}

}  // namespace
}  // namespace minfer::test
