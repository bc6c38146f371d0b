#include "graph/split.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace minfer {
namespace {

constexpr auto kCpu = BackendId::Cpu, kMetal = BackendId::Metal;

struct SplitTest : ::testing::Test {
    GraphBuilder b;
    NodeId x = b.input("x", DType::F32, {4, 2, 1, 1});
    NodeId index = b.input("index", DType::I32, {2, 1, 1, 1});

    Graph finish(std::initializer_list<NodeId> on_metal) {
        auto graph = *b.finish();
        for (auto& node : graph.nodes) node.backend = kCpu;
        for (const NodeId id : on_metal) graph.nodes[id].backend = kMetal;
        return graph;
    }
};

TEST_F(SplitTest, CutsWhereverTheBackendChanges) {
    const auto p = b.silu("p", x), q = b.add("q", p, x), r = b.add("r", q, p), s = b.silu("s", r);
    b.output(s);
    const auto splits = split_graph(finish({q, r}));
    ASSERT_EQ(splits.size(), 3u);
    EXPECT_EQ(splits[0].backend, kCpu);
    EXPECT_EQ(splits[0].nodes, std::vector{p});
    EXPECT_TRUE(splits[0].imports.empty());
    EXPECT_EQ(splits[1].backend, kMetal);
    EXPECT_EQ(splits[1].nodes, (std::vector{q, r}));
    EXPECT_EQ(splits[1].imports, (std::vector{p, x}));  // p once, though read twice
    EXPECT_EQ(splits[2].imports, std::vector{r});
}

TEST_F(SplitTest, AValueIsCarriedToABackendOnce) {
    const auto p = b.silu("p", x), q = b.add("q", p, x), r = b.silu("r", q), s = b.add("s", p, r);
    b.output(s);
    const auto splits = split_graph(finish({q, s}));
    ASSERT_EQ(splits.size(), 4u);
    EXPECT_EQ(splits[3].imports, std::vector{r});  // p came with the second split
}

TEST_F(SplitTest, WhatRunsNothingNeitherFormsNorCutsASplit) {
    const auto p = b.silu("p", x);
    const auto dead = b.silu("dead", p);  // on the other backend, read by nobody
    const auto part = b.view("part", p, 0, {4, 1, 1, 1});
    const auto q = b.silu("q", part);
    b.output(q);
    const auto splits = split_graph(finish({dead}));
    ASSERT_EQ(splits.size(), 1u);
    EXPECT_EQ(splits[0].nodes, (std::vector{p, q}));
}

TEST_F(SplitTest, AGraphThatRunsNothingHasNoSplits) {
    b.output(x);
    EXPECT_TRUE(split_graph(finish({})).empty());
}

TEST_F(SplitTest, AStoreRunsThoughNobodyReadsIt) {
    const auto layout = kv_layout(KvFormat::F32, 4);
    const auto store = b.kv_store("store", x, x, index, {.layout = layout, .n_ctx = 8});
    b.kv_load("load", store, {.layout = layout, .n_ctx = 8});
    b.output(x);
    const auto splits = split_graph(finish({store}));
    ASSERT_EQ(splits.size(), 1u);
    EXPECT_EQ(splits[0].nodes, std::vector{store});
    EXPECT_EQ(splits[0].imports, (std::vector{x, index}));
}

}  // namespace
}  // namespace minfer
