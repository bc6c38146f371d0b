// Moves of cells, and activations that cross between backends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backend/metal/rig.h"
#include "graph/builder.h"
#include "graph/runner.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

using ::testing::HasSubstr;

std::vector<float> read(Backend& backend, BufRef from) {
    auto values = std::vector<float>(from.bytes / 4);
    const auto done = backend.read(from, std::as_writable_bytes(std::span(values)));
    EXPECT_TRUE(done) << done.error().what;
    return values;
}

Result<> add(Backend& backend, BufRef a, BufRef b, BufRef out) {
    const BufRef in[] = {a, b};
    const auto node = Node{.name = "sum", .op = op::Add{}, .shape = {out.bytes / 4, 1, 1, 1}};
    return backend.execute({.node = &node, .in = in, .out = out});
}

// memmove is the reference.
TEST(MetalCopy, metal_copy_cells_moves_overlapping_rows_in_both_directions) {
    auto rig = metal_rig();
    constexpr size_t kRows = 23;
    for (const size_t words : {1, 2, 17}) {
        auto cells = std::vector<float>(kRows * words);
        std::iota(cells.begin(), cells.end(), 1.0f);
        for (size_t to = 0; to < kRows; ++to)
            for (size_t from = 0; from < kRows; ++from)
                for (const size_t rows : {size_t{1}, size_t{5}, kRows - std::max(to, from)}) {
                    if (rows > kRows - std::max(to, from)) continue;
                    const auto region = rig.floats(cells);
                    ASSERT_TRUE(rig.backend().copy_cells(region, to, from, rows, words * 4));
                    auto want = cells;
                    std::memmove(want.data() + to * words, cells.data() + from * words,
                                 rows * words * 4);
                    ASSERT_EQ(rig.view(region), want) << rows << " from " << from << " to " << to;
                    rig.free(region);
                }
    }
}

TEST(MetalCopy, AMoveOfCellsOutOfTheRegionIsRefused) {
    auto rig = metal_rig();
    const auto cells = random_floats(20, 1);
    const auto region = rig.floats(cells);
    for (const auto& [to, from, rows] : {std::array<size_t, 3>{6, 0, 5}, {0, 6, 5}, {0, 0, 11}}) {
        const auto done = rig.backend().copy_cells(region, to, from, rows, 8);
        ASSERT_FALSE(done);
        EXPECT_THAT(done.error().what, HasSubstr("among 10 cells"));
    }
    EXPECT_EQ(rig.view(region), cells);
    EXPECT_TRUE(rig.backend().copy_cells(region, 5, 0, 5, 8));
    EXPECT_TRUE(rig.backend().copy_cells(region, 0, 0, 10, 8));
}

// The move is part of the split: after what was encoded before it, before what comes after.
TEST(MetalCopy, CellsMoveInOrderWithTheWorkAroundThem) {
    auto rig = metal_rig();
    const auto a = rig.floats(std::vector<float>(8, 1)), b = rig.floats(std::vector<float>(8, 2));
    const auto region = rig.floats(std::vector<float>(8, 50));
    auto half = region;
    half.bytes = 16;
    auto a_half = a, b_half = b;
    a_half.bytes = b_half.bytes = 16;
    const auto before = dynamic_cast<MetalBackend&>(rig.backend()).counters();
    ASSERT_TRUE(add(rig.backend(), a_half, b_half, half));       // 3 3 3 3 50...
    ASSERT_TRUE(rig.backend().copy_cells(region, 1, 0, 1, 16));  // 3 3 3 3 3...
    ASSERT_TRUE(add(rig.backend(), region, b, region));          // 5...
    EXPECT_THAT(rig.view(region), ::testing::Each(5.0f));
    const auto after = dynamic_cast<MetalBackend&>(rig.backend()).counters();
    EXPECT_EQ(after.command_buffers - before.command_buffers, 1u);
    EXPECT_EQ(after.dispatches - before.dispatches, 2u);
}

TEST(MetalCopy, AWriteWaitsForThePendingSplitThatReadsWhatItOverwrites) {
    auto rig = metal_rig();
    const auto a = rig.floats(std::vector<float>(64, 1)), b = rig.floats(std::vector<float>(64, 2));
    const auto out = rig.floats(std::vector<float>(64));
    ASSERT_TRUE(add(rig.backend(), a, b, out));
    const auto hundred = std::vector<float>(64, 100);
    ASSERT_TRUE(rig.backend().write(a, std::as_bytes(std::span(hundred))));
    EXPECT_THAT(read(rig.backend(), out), ::testing::Each(3.0f));
}

TEST(MetalCopy, SizesThatDifferAreRefused) {
    auto rig = metal_rig();
    const auto a = rig.floats(std::vector<float>(4));
    auto three = std::vector<float>(3);
    const auto wrote = rig.backend().write(a, std::as_bytes(std::span(three)));
    ASSERT_FALSE(wrote);
    EXPECT_THAT(wrote.error().what, HasSubstr("12 bytes written to a buffer of 16"));
    EXPECT_FALSE(rig.backend().read(a, std::as_writable_bytes(std::span(three))));
}

// A chain of n sums over one input, whose nodes lie on the backends of the pattern in turn: 'c' and
// 'm'. Every node adds the input once more.
struct Chain {
    std::unique_ptr<Backend> cpu = make_cpu_backend();
    std::unique_ptr<MetalBackend> metal = metal_backend();
    std::unique_ptr<GraphRunner> runner;
    std::vector<float> x;

    Chain(std::string_view pattern, size_t n, size_t width) : x(random_floats(width, 5)) {
        runner = std::make_unique<GraphRunner>(
            std::vector<Backend*>{metal.get(), cpu.get()},
            [=, pattern = std::string(pattern)](const GraphParams&) -> Result<Graph> {
                auto b = GraphBuilder();
                const auto input = b.input("x", DType::F32, {width, 1, 1, 1});
                auto last = input;
                for (size_t i = 0; i < n; ++i) last = b.add(fmt::format("sum{}", i), last, input);
                b.output(last);
                auto graph = MINFER_TRY(b.finish());
                for (size_t i = 0; i < n; ++i)
                    graph.nodes[input + 1 + i].backend =
                        pattern[i % pattern.size()] == 'm' ? BackendId::Metal : BackendId::Cpu;
                return graph;
            });
        const auto bound = runner->bind({.gpu = true});
        EXPECT_TRUE(bound) << bound.error().what;
    }

    std::vector<float> run() {
        EXPECT_TRUE(runner->write_input("x", std::as_bytes(std::span(x))));
        const auto done = runner->execute();
        EXPECT_TRUE(done) << done.error().what;
        auto out = std::vector<float>(x.size());
        EXPECT_TRUE(runner->read_output(0, out));
        return out;
    }
    std::vector<float> want(size_t n) const {
        auto sum = x;
        for (size_t k = 0; k < n; ++k)
            for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
        return sum;
    }
    size_t nodes_on(BackendId id) const {
        return static_cast<size_t>(
            std::ranges::count_if(runner->graph().nodes, [&](const Node& node) {
                return node.backend == id && !std::holds_alternative<op::Input>(node.op);
            }));
    }
};

TEST(MetalCopy, metal_cross_backend_copy) {
    for (const auto* const pattern : {"cm", "mc"}) {
        auto chain = Chain(pattern, 2, 7);
        EXPECT_EQ(chain.nodes_on(BackendId::Metal), 1u);
        EXPECT_EQ(chain.run(), chain.want(2));
        EXPECT_GE(chain.runner->counters().boundary_copies, 1u);
        EXPECT_EQ(chain.metal->counters().dispatches, 1u);
    }
}

TEST(MetalCopy, metal_cross_backend_copy_large) {
    auto chain = Chain("mcm", 3, 896 * 1031);
    EXPECT_EQ(chain.run(), chain.want(3));
    EXPECT_EQ(chain.metal->counters().dispatches, 2u);
}

TEST(MetalCopy, metal_multi_split_alternation) {
    constexpr size_t kNodes = 41;
    auto chain = Chain("mc", kNodes, 301);
    EXPECT_EQ(chain.nodes_on(BackendId::Metal), 21u);
    EXPECT_EQ(chain.nodes_on(BackendId::Cpu), 20u);
    // A cached graph executes again: staging overwrites nothing that a producer owns.
    for (size_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(chain.run(), chain.want(kNodes));
        EXPECT_EQ(chain.metal->counters().dispatches, 21 * i);
        EXPECT_EQ(chain.metal->counters().barriers, 21 * i);
        EXPECT_EQ(chain.metal->counters().command_buffers, 21 * i);
    }
    auto longer = Chain("mmmcc", kNodes, 301);
    EXPECT_EQ(longer.run(), longer.want(kNodes));
    EXPECT_EQ(longer.metal->counters().command_buffers, 9u);  // one a split
    EXPECT_EQ(longer.metal->counters().dispatches, 25u);
    auto all = Chain("m", kNodes, 301);
    EXPECT_EQ(all.run(), all.want(kNodes));
    EXPECT_EQ(all.metal->counters().command_buffers, 1u);
    EXPECT_EQ(all.metal->counters().dispatches, kNodes);
}

}  // namespace
}  // namespace minfer::test
