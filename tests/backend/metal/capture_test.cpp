// Values that somebody looks at, of a split whose memory is used again while it runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "backend/metal/rig.h"
#include "graph/builder.h"
#include "graph/runner.h"

namespace minfer::test {
namespace {

constexpr size_t kCount = 64;

struct Seen : ValueWatch {
    std::map<std::string, std::vector<float>> values;
    size_t ended = 0;

    void begin(const Graph&) override { values.clear(); }
    void value(const Node& node, std::span<const std::byte> bytes) override {
        const auto* const first = reinterpret_cast<const float*>(bytes.data());
        values[node.name] = {first, first + bytes.size() / sizeof(float)};
    }
    void end() override { ++ended; }
};

// x -> n0 = x + x -> n1 = silu(n0), in place -> n2 = n1 + x -> n3 = silu(n2) ...: two buffers take
// turns.
constexpr size_t kNodes = 10;
Result<Graph> build(const GraphParams&) {
    GraphBuilder g;
    const auto x = g.input("x", DType::F32, {kCount, 1, 1, 1});
    auto last = x;
    for (size_t i = 0; i < kNodes; ++i) {
        const auto name = fmt::format("n{}", i);
        last = i % 2 == 0 ? g.add(name, last, x) : g.silu(name, last);
    }
    g.output(last);
    auto graph = MINFER_TRY(g.finish());
    for (auto& node : graph.nodes) node.backend = BackendId::Metal;
    return graph;
}

struct MetalCapture : testing::Test {
    std::unique_ptr<MetalBackend> metal = metal_backend({.submit_bound_seconds = 60});
    std::unique_ptr<CpuBackend> cpu = make_cpu_backend({});
    GraphRunner runner{{metal.get(), cpu.get()}, build};
    std::vector<float> x = std::vector<float>(kCount);
    Seen seen;

    void SetUp() override {
        for (size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i) / 16 - 2;
        ASSERT_TRUE(runner.bind({}));
        ASSERT_TRUE(runner.write_input("x", std::as_bytes(std::span(x))));
    }
    // What the backend did for one execution.
    MetalCounters cost() {
        const auto before = metal->counters();
        const auto done = runner.execute();
        EXPECT_TRUE(done) << done.error().what;
        const auto after = metal->counters();
        return {.command_buffers = after.command_buffers - before.command_buffers,
                .dispatches = after.dispatches - before.dispatches,
                .barriers = after.barriers - before.barriers};
    }
    std::vector<float> result() {
        auto values = std::vector<float>(kCount);
        EXPECT_TRUE(runner.read_output(0, values));
        return values;
    }
};

TEST_F(MetalCapture, metal_capture_sees_each_value_before_its_memory_is_used_again) {
    runner.watch({.values = &seen});
    cost();
    ASSERT_EQ(seen.values.size(), kNodes + 1);
    EXPECT_EQ(seen.values["x"], x);
    auto want = x;
    for (size_t n = 0; n < kNodes; ++n) {
        const auto& got = seen.values[fmt::format("n{}", n)];
        ASSERT_EQ(got.size(), kCount) << "node " << n;
        for (size_t i = 0; i < kCount; ++i) {
            const auto before = static_cast<double>(want[i]);
            const auto exact = n % 2 == 0 ? before + x[i] : before / (1 + std::exp(-before));
            ASSERT_NEAR(got[i], exact, 1e-6 * (1 + std::fabs(exact))) << "node " << n;
        }
        want = got;  // each node is held against what it read
    }
    EXPECT_EQ(seen.values[fmt::format("n{}", kNodes - 1)], result());
}

TEST_F(MetalCapture, metal_capture_adds_no_dispatch_and_no_submit) {
    const auto alone = cost();
    const auto want = result();
    const auto buffers = metal->pool_count(), bytes = metal->pool_bytes();
    runner.watch({.values = &seen});
    const auto watched = cost();
    EXPECT_EQ(alone.command_buffers, 1u);
    EXPECT_EQ(watched.command_buffers, alone.command_buffers);
    EXPECT_EQ(watched.dispatches, alone.dispatches);
    EXPECT_EQ(watched.barriers, alone.barriers);
    EXPECT_EQ(result(), want);
    EXPECT_GT(metal->pool_count(), buffers) << "the control: values went somewhere";

    // Staging of the same sizes serves the next execution, watched or not.
    const auto staged = metal->pool_bytes();
    EXPECT_EQ(staged - bytes, kNodes * kCount * sizeof(float));
    cost();
    runner.watch({});
    EXPECT_EQ(cost().dispatches, alone.dispatches);
    EXPECT_EQ(metal->pool_bytes(), staged);
    EXPECT_EQ(seen.ended, 2u);
}

TEST_F(MetalCapture, metal_capture_is_refused_by_the_budget_and_the_next_step_runs) {
    const auto taken = metal->pool_bytes();
    auto small = metal_backend({.memory_budget_bytes = taken + 3 * kCount * sizeof(float)});
    auto tight = GraphRunner({small.get(), cpu.get()}, build);
    ASSERT_TRUE(tight.bind({}));
    ASSERT_TRUE(tight.write_input("x", std::as_bytes(std::span(x))));
    tight.watch({.values = &seen});
    const auto refused = tight.execute();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(refused.error().what, testing::HasSubstr("trace of node 'n3'"));
    EXPECT_EQ(seen.ended, 0u);
    tight.watch({});
    EXPECT_TRUE(tight.execute());
}

}  // namespace
}  // namespace minfer::test
