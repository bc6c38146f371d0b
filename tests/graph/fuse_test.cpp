#include "graph/fuse.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/liveness.h"
#include "support/fake_backend.h"

namespace minfer {
namespace {

struct Fuse : ::testing::Test {
    FakeBackend cpu{BackendId::Cpu};
    std::vector<Backend*> backends = {&cpu};
    GraphBuilder b;
    NodeId x = b.input("x", DType::F32, {4, 1, 1, 1});
    NodeId y = b.input("y", DType::F32, {4, 1, 1, 1});
    NodeId silu = b.silu("silu", x);

    Graph finish() {
        auto graph = *b.finish();
        for (auto& node : graph.nodes) node.backend = BackendId::Cpu;
        return graph;
    }
};

TEST_F(Fuse, RewritesSiluTimesYInEitherOrder) {
    const auto left = b.mul("left", silu, y);
    const auto right = b.mul("right", y, b.silu("silu2", x));
    b.output(left);
    b.output(right);
    auto graph = finish();
    EXPECT_EQ(fuse(graph, backends), 2u);
    for (const NodeId id : {left, right}) {
        EXPECT_EQ(graph.node(id).op, Op(op::SwiGlu{}));
        EXPECT_EQ(graph.node(id).src, (std::vector{x, y}));
    }
    EXPECT_FALSE(live_nodes(graph)[silu]);
}

TEST_F(Fuse, NeedsTheCapability) {
    b.output(b.mul("m", silu, y));
    auto graph = finish();
    cpu.swiglu_fusion = false;
    EXPECT_EQ(fuse(graph, backends), 0u);
    EXPECT_EQ(graph.find("m")->op, Op(op::Mul{}));
}

TEST_F(Fuse, NeverComputesASiluTwice) {
    b.output(b.mul("m", silu, y));
    b.output(b.add("also", silu, y));
    auto graph = finish();
    EXPECT_EQ(fuse(graph, backends), 0u);
}

TEST_F(Fuse, KeepsASiluThatIsAnOutput) {
    b.output(b.mul("m", silu, y));
    b.output(silu);
    auto graph = finish();
    EXPECT_EQ(fuse(graph, backends), 0u);
}

TEST_F(Fuse, LeavesOtherProductsAlone) {
    b.output(b.mul("m", x, y));
    b.output(b.add("a", silu, y));
    auto graph = finish();
    EXPECT_EQ(fuse(graph, backends), 0u);
}

}  // namespace
}  // namespace minfer
