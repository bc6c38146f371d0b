// What somebody sees who looks on while a graph is executed.

#include "graph/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "graph/builder.h"
#include "graph/runner.h"
#include "support/fake_backend.h"

namespace minfer {
namespace {

using ::testing::ElementsAre;

struct Seen : ValueWatch {
    std::vector<std::string> names;
    std::map<std::string, std::vector<float>> values;
    size_t begun = 0, ended = 0;

    void begin(const Graph&) override { ++begun; }
    void value(const Node& node, std::span<const std::byte> bytes) override {
        names.push_back(node.name);
        auto& copy = values[node.name];
        copy.resize(bytes.size() / sizeof(float));
        std::memcpy(copy.data(), bytes.data(), bytes.size());
    }
    void end() override { ++ended; }
};

struct Times : TimeWatch {
    std::vector<std::string> nodes, waits;
    size_t ended = 0;

    void begin(const Graph&) override {}
    void node(const Node& node, Span ran) override {
        EXPECT_LE(ran.begin, ran.end);
        nodes.push_back(node.name);
    }
    void wait(BackendId backend, size_t n_nodes, Span) override {
        waits.push_back(fmt::format("{}:{}", std::to_underlying(backend), n_nodes));
    }
    void end(Span) override { ++ended; }
};

// x -> twice (x + x) -> act (silu, in place) -> sum (act + x); tail shows the end of twice, and
// unread is an input of no node. `twice` runs on the device, the others on the CPU.
Result<Graph> build(const GraphParams&) {
    GraphBuilder g;
    const auto x = g.input("x", DType::F32, {4, 1, 1, 1});
    g.input("unread", DType::I32, {2, 1, 1, 1});
    const auto twice = g.add("twice", x, x);
    const auto tail = g.view("tail", twice, 2, {2, 1, 1, 1});
    const auto square = g.mul("square", tail, tail);
    const auto act = g.silu("act", twice);
    g.output(g.add("sum", act, x));
    g.output(square);
    auto graph = MINFER_TRY(g.finish());
    for (auto& node : graph.nodes)
        if (node.name == "twice" || node.name == "tail" || node.name == "square")
            node.backend = BackendId::Metal;
    for (auto& node : graph.nodes)
        if (node.name == "act" || node.name == "sum") node.backend = BackendId::Cpu;
    return graph;
}

struct Watched : testing::Test {
    FakeBackend cpu{BackendId::Cpu, "cpu"};
    FakeBackend gpu{BackendId::Metal, "metal"};
    GraphRunner runner{{&gpu, &cpu}, build};
    const std::vector<float> x = {-1, 0, 1, 2};
    Seen seen;
    Times times;

    void SetUp() override {
        ASSERT_TRUE(runner.bind({}));
        ASSERT_TRUE(runner.write_input("x", std::as_bytes(std::span(x))));
    }
    std::vector<float> sum() {
        auto values = std::vector<float>(4);
        EXPECT_TRUE(runner.read_output(0, values));
        return values;
    }
};

TEST_F(Watched, EveryValueIsSeenAsItIsWhenTheNodeHasRun) {
    runner.watch({.values = &seen});
    ASSERT_TRUE(runner.execute());
    EXPECT_THAT(seen.names, ElementsAre("x", "twice", "tail", "square", "act", "sum"));
    EXPECT_THAT(seen.values["twice"], ElementsAre(-2, 0, 2, 4));
    EXPECT_THAT(seen.values["tail"], ElementsAre(2, 4));
    EXPECT_THAT(seen.values["square"], ElementsAre(4, 16));
    for (size_t i = 0; i < 4; ++i) {
        const float twice = 2 * x[i], act = twice / (1 + std::exp(-twice));
        EXPECT_EQ(seen.values["act"][i], act);
        EXPECT_EQ(seen.values["sum"][i], act + x[i]);
    }
    EXPECT_EQ(seen.values["sum"], sum());
    EXPECT_EQ(seen.begun, 1u);
    EXPECT_EQ(seen.ended, 1u);
}

TEST_F(Watched, NodesAreTimedOnEveryBackendAndWaitsOnADevice) {
    runner.watch({.times = &times});
    ASSERT_TRUE(runner.execute());
    EXPECT_THAT(times.nodes, ElementsAre("twice", "square", "act", "sum"));
    EXPECT_THAT(times.waits, ElementsAre("1:2"));
    EXPECT_EQ(times.ended, 1u);
}

TEST_F(Watched, LookingOnChangesNothing) {
    ASSERT_TRUE(runner.execute());
    const auto alone = sum();
    const auto reads = cpu.reads + gpu.reads, buffers = cpu.pool_count() + gpu.pool_count();
    runner.watch({.values = &seen, .times = &times});
    ASSERT_TRUE(runner.execute());
    EXPECT_EQ(sum(), alone);
    EXPECT_GT(cpu.reads + gpu.reads, 2 * reads) << "the control: somebody did look";
    EXPECT_EQ(cpu.pool_count() + gpu.pool_count(), buffers);
    const auto before = cpu.reads + gpu.reads;
    runner.watch({});
    ASSERT_TRUE(runner.execute());
    EXPECT_EQ(sum(), alone);
    EXPECT_EQ(cpu.reads + gpu.reads - before, reads) << "nothing is read for nobody";
    EXPECT_EQ(seen.begun, 1u);
}

TEST_F(Watched, AnExecutionThatFailsDoesNotEnd) {
    runner.watch({.values = &seen, .times = &times});
    cpu.fail_node = "act";
    EXPECT_FALSE(runner.execute());
    EXPECT_EQ(seen.begun, 1u);
    EXPECT_EQ(seen.ended, 0u);
    EXPECT_EQ(times.ended, 0u);
    cpu.fail_node.clear();
    EXPECT_TRUE(runner.execute());
    EXPECT_EQ(seen.ended, 1u);
}

}  // namespace
}  // namespace minfer
