#include "model/placement.h"

#include <gtest/gtest.h>

namespace minfer {
namespace {

TEST(Placement, TheBlockIsInTheLastBlkOfTheName) {
    EXPECT_EQ(weight_block("blk.0.attn_q.weight"), 0u);
    EXPECT_EQ(weight_block("blk.27.ffn_up.weight"), 27u);
    EXPECT_EQ(weight_block("draft.blk.9/blk.3.attn_q.weight"), 3u);
    for (const auto* const outside : {"token_embd.weight", "output_norm.weight", "output.weight",
                                      "blk.", "blk.3", "blk.x.weight", "blk.-1.weight", ""})
        EXPECT_EQ(weight_block(outside), std::nullopt) << outside;
}

TEST(Placement, ADeviceGetsItsBlocksAndTheRestOnlyWithAllOfThem) {
    const auto metal = BackendId::Metal;
    const auto part = LayerPlan{.device = true, .gpu_layers = 2, .n_layers = 3};
    EXPECT_TRUE(is_registered("ns.blk.1.attn_q.weight", metal, part));
    EXPECT_FALSE(is_registered("ns.blk.2.attn_q.weight", metal, part));
    EXPECT_FALSE(is_registered("ns.token_embd.weight", metal, part));
    const auto whole = LayerPlan{.device = true, .gpu_layers = 3, .n_layers = 3};
    EXPECT_TRUE(is_registered("blk.2.attn_q.weight", metal, whole));
    EXPECT_TRUE(is_registered("output.weight", metal, whole));
    EXPECT_FALSE(is_registered("output.weight", metal, {}));
}

TEST(Placement, TheCpuGetsEverything) {
    for (const auto& plan : {LayerPlan{}, {.device = true, .gpu_layers = 3, .n_layers = 3}})
        for (const auto* const name : {"blk.0.attn_q.weight", "output.weight"})
            EXPECT_TRUE(is_registered(name, BackendId::Cpu, plan)) << name;
}

}  // namespace
}  // namespace minfer
