#include "graph/assign.h"

#include <gtest/gtest.h>

#include "support/toy_model.h"

namespace minfer {
namespace {

constexpr auto kCpu = BackendId::Cpu, kMetal = BackendId::Metal, kCuda = BackendId::Cuda;

struct Assign : ::testing::Test {
    FakeBackend cpu{kCpu, "cpu"}, metal{kMetal, "metal"}, cuda{kCuda, "cuda"};
    std::vector<Backend*> backends = {&metal, &cuda, &cpu};

    Graph toy(GraphParams params) {
        auto graph = ToyModel::build(params);
        EXPECT_TRUE(graph) << graph.error().what;
        assign(*graph, backends, layer_plan(params, *graph));
        return *std::move(graph);
    }
    static BackendId home(const Graph& graph, std::string_view name) {
        return *graph.find(name)->backend;
    }
};

TEST_F(Assign, WithoutADeviceEverythingIsOnTheCpu) {
    for (const auto& node : toy({.n_tokens = 3, .gpu_layers = 2}).nodes)
        EXPECT_EQ(node.backend, kCpu) << node.name;
}

TEST_F(Assign, AFullOffloadPutsEveryNodeOnTheHighestPriority) {
    for (const auto& node : toy({.n_tokens = 3, .gpu = true, .gpu_layers = 2}).nodes)
        if (node.name != "seq_ids") {
            EXPECT_EQ(node.backend, kMetal) << node.name;
        }
}

TEST_F(Assign, APartialOffloadKeepsEmbeddingAndHeadOnTheCpu) {
    const auto graph = toy({.n_tokens = 3, .gpu = true, .gpu_layers = 1});
    EXPECT_EQ(home(graph, "embd"), kCpu);
    EXPECT_EQ(home(graph, "output"), kCpu);
    EXPECT_EQ(home(graph, "norm"), kCpu);
    for (const auto& node : graph.nodes)
        if (node.layer) {
            EXPECT_EQ(node.backend, *node.layer < 1 ? kMetal : kCpu) << node.name;
        }
}

TEST_F(Assign, ANodeGoesToTheNextBackendThatTakesIt) {
    metal.refused_ops = {"RmsNorm"};
    cuda.refused_ops = {"Add"};
    const auto graph = toy({.gpu = true, .gpu_layers = 9});
    EXPECT_EQ(home(graph, "blk.0.attn_norm"), kCuda);
    EXPECT_EQ(home(graph, "blk.0.attn_add"), kMetal);
    metal.refused_ops = cuda.refused_ops = {"MatMul"};
    EXPECT_EQ(home(toy({.gpu = true, .gpu_layers = 9}), "blk.0.q"), kCpu);
}

TEST_F(Assign, TheCpuGetsWhatNobodyClaims) {
    for (auto* backend : {&metal, &cuda, &cpu}) backend->refused_ops = {"Silu"};
    EXPECT_EQ(home(toy({.gpu = true, .gpu_layers = 9}), "blk.0.silu"), kCpu);
}

TEST_F(Assign, AWeightTypeWithoutAKernelIsNotTaken) {
    metal.weight_types = {DType::F16};
    const auto graph = toy({.gpu = true, .gpu_layers = 2});
    EXPECT_EQ(home(graph, "blk.0.q"), kCuda);
    EXPECT_EQ(home(graph, "embd"), kCuda);
    EXPECT_EQ(home(graph, "blk.0.attn_norm"), kMetal);
}

TEST_F(Assign, TheNodesOfOneCacheStayTogether) {
    // Metal could store, but not attend over windows that the positions do not tell.
    metal.attn_span = false;
    const auto graph = toy({.gpu = true, .gpu_layers = 2, .explicit_span = true});
    for (const char* node : {"blk.0.store", "blk.0.load", "blk.0.attn"})
        EXPECT_EQ(home(graph, node), kCuda) << node;
    EXPECT_EQ(home(toy({.gpu = true, .gpu_layers = 2}), "blk.0.attn"), kMetal);
    metal.kv_formats = {};
    for (const char* node : {"blk.1.store", "blk.1.load", "blk.1.attn"})
        EXPECT_EQ(home(toy({.gpu = true, .gpu_layers = 2}), node), kCuda) << node;
}

TEST_F(Assign, AFusedProjectionIsPlacedWithItsCacheByWeightTypeAndFormat) {
    const auto params = GraphParams{.gpu = true, .gpu_layers = 2, .fuse_qkv = true};
    const auto together = {"blk.0.qkv", "blk.0.q_view", "blk.0.load", "blk.0.attn"};
    for (const char* node : together) EXPECT_EQ(home(toy(params), node), kMetal) << node;
    metal.refused_ops = {"Attention"};
    for (const char* node : together) EXPECT_EQ(home(toy(params), node), kCuda) << node;
    metal.refused_ops = {};
    metal.weight_types = {DType::F16};
    for (const char* node : together) EXPECT_EQ(home(toy(params), node), kCuda) << node;
    metal.weight_types = {DType::F32};
    metal.kv_formats = {KvFormat::F16};
    for (const char* node : together) EXPECT_EQ(home(toy(params), node), kCuda) << node;
}

TEST_F(Assign, AFusedFeedForwardIsPlacedByItsWeightType) {
    const auto params = GraphParams{.gpu = true, .gpu_layers = 2, .fuse_ffn = true};
    EXPECT_EQ(home(toy(params), "blk.0.ffn"), kMetal);
    metal.weight_types = {DType::F16};
    EXPECT_EQ(home(toy(params), "blk.0.ffn"), kCuda);
}

TEST_F(Assign, AnInputGoesWhereItsConsumersAreWhenTheyAgree) {
    const auto graph = toy({.n_tokens = 3, .gpu = true, .gpu_layers = 1});
    EXPECT_EQ(home(graph, "token_ids"), kCpu);  // read by the embedding only
    EXPECT_EQ(home(graph, "positions"), kCpu);  // read by both blocks
    EXPECT_EQ(home(graph, "seq_ids"), kCpu);    // read by nobody
    EXPECT_EQ(home(toy({.n_tokens = 3, .gpu = true, .gpu_layers = 2}), "positions"), kMetal);
}

TEST_F(Assign, ViewsFollowTheirSourceAndCountAsItsConsumers) {
    GraphBuilder b;
    const auto x = b.input("x", DType::F32, {8, 1, 1, 1});
    const auto part = b.view("part", x, 4, {4, 1, 1, 1});
    b.set_layer(0);
    const auto y = b.silu("y", part);
    const auto z = b.view("z", y, 0, {2, 1, 1, 1});
    b.output(z);
    auto graph = *b.finish();
    metal.refused_ops = {"View"};
    assign(graph, backends, {.device = true, .gpu_layers = 1, .n_layers = 2});
    EXPECT_EQ(graph.node(x).backend, kMetal);
    EXPECT_EQ(graph.node(part).backend, kMetal);
    EXPECT_EQ(graph.node(z).backend, kMetal);
}

TEST_F(Assign, APresetBackendIsKept) {
    auto graph = *ToyModel::build({});
    graph.nodes[graph.find("blk.0.q")->id].backend = kCuda;
    assign(graph, backends, {.device = true, .gpu_layers = 2, .n_layers = 2});
    EXPECT_EQ(home(graph, "blk.0.q"), kCuda);
    EXPECT_EQ(home(graph, "blk.0.k"), kMetal);
}

TEST_F(Assign, TheLayerPlanIsAPrefixOfBlocks) {
    const auto plan = LayerPlan{.device = true, .gpu_layers = 2, .n_layers = 3};
    EXPECT_TRUE(plan.allows(0));
    EXPECT_TRUE(plan.allows(1));
    EXPECT_FALSE(plan.allows(2));
    EXPECT_FALSE(plan.allows(std::nullopt));
    EXPECT_TRUE((LayerPlan{.device = true, .gpu_layers = 3, .n_layers = 3}).allows(std::nullopt));
    EXPECT_FALSE((LayerPlan{.gpu_layers = 3, .n_layers = 3}).allows(0));
    EXPECT_EQ(layer_plan({}, *ToyModel::build({})).n_layers, ToyModel::kLayers);
}

}  // namespace
}  // namespace minfer
