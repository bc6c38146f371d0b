#include "backend/metal/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/rig.h"
#include "graph/builder.h"
#include "graph/runner.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::Launch;
using testing::HasSubstr;

op::RmsNorm rms_norm(float eps = 1e-6f) { return {.eps = eps, .weight = "norm"}; }

op::QkNorm qk_norm(size_t n_head, size_t head_dim) {
    return {.eps = 1e-6f, .weight = "norm", .n_head = n_head, .head_dim = head_dim};
}

TEST(MetalNorm, ARowTakesAThreadgroupAndAHeadASimdGroup) {
    EXPECT_EQ(*metal::plan_rms_norm_256(7), (Launch{{7}, {256}}));
    EXPECT_EQ(*metal::plan_rms_norm_32(7), (Launch{{7}, {32}}));
    EXPECT_EQ(*metal::plan_norm_heads(8), (Launch{{1}, {256}}));
    EXPECT_EQ(*metal::plan_norm_heads(9), (Launch{{2}, {256}}));
}

// Every width about a multiple of what lanes, SIMD groups and threadgroups take at a time.
TEST(MetalNorm, metal_rmsnorm_matches_cpu) {
    auto metal = metal_rig();
    auto cpu = cpu_rig();
    for (const size_t width : {1, 3, 4, 31, 127, 128, 131, 132, 133, 255, 896, 1023, 1024, 1025,
                               1028, 2051, 3584, 4097}) {
        const auto name = fmt::format("norm.{}", width);
        const auto x = random_floats(width * 3, 1, 5), weight = random_floats(width, 2);
        metal.weight(name, weight);
        cpu.weight(name, weight);
        const auto norm = op::RmsNorm{.eps = 1e-6f, .weight = name};
        const auto got = metal.run(norm, {width, 3, 1, 1}, {metal.floats(x)});
        EXPECT_EQ(got.error, "");
        const auto want = reference::rms_norm(reference::widened(x), weight, double{1e-6f});
        EXPECT_LE(nmse(got.values, want), kNormBar) << width;
        const auto on_cpu = cpu.run(norm, {width, 3, 1, 1}, {cpu.floats(x)});
        EXPECT_LE(nmse(got.values, on_cpu.values), kNormBar) << width;
    }
}

TEST(MetalNorm, metal_rmsnorm_real_scale) {
    auto rig = metal_rig();
    const auto x = random_floats(896 * 8, 3, 10), weight = random_floats(896, 4);
    rig.weight("norm", weight);
    const auto got = rig.run(rms_norm(), {896, 8, 1, 1}, {rig.floats(x)});
    const auto want = reference::rms_norm(reference::widened(x), weight, double{1e-6f});
    EXPECT_LE(nmse(got.values, want), kNormBar);
}

TEST(MetalNorm, ThirtyTwoThreadsGiveTheBitsOf256) {
    auto labels = std::vector<std::string>();
    auto options = traced(&labels);
    auto wide = metal_rig(options);
    options.rms_norm_256 = false;
    auto narrow = metal_rig(options);
    for (const size_t width : {2, 64, 131, 132, 896, 1023, 1027, 3584, 5000}) {
        const auto name = fmt::format("norm.{}", width);
        const auto x = random_floats(width * 2, 5, 3), weight = random_floats(width, 6);
        wide.weight(name, weight);
        narrow.weight(name, weight);
        const auto norm = op::RmsNorm{.eps = 1e-5f, .weight = name};
        const auto a = wide.run(norm, {width, 2, 1, 1}, {wide.floats(x)});
        EXPECT_EQ(labels.back(), "rms_norm_256");
        const auto b = narrow.run(norm, {width, 2, 1, 1}, {narrow.floats(x)});
        EXPECT_EQ(labels.back(), "rms_norm_32");
        EXPECT_EQ(a.values, b.values) << width;
    }
}

TEST(MetalNorm, AHeadHasTheBitsOfARow) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(traced(&labels));
    for (const size_t head_dim : {1, 6, 20, 64, 128, 131, 132, 256, 300}) {
        const auto name = fmt::format("norm.{}", head_dim);
        const auto x = random_floats(head_dim * 3 * 5, 7, 3), weight = random_floats(head_dim, 8);
        rig.weight(name, weight);
        const auto in = rig.floats(x);
        auto heads = qk_norm(3, head_dim);
        heads.weight = name;
        const auto a = rig.run(heads, {head_dim * 3, 5, 1, 1}, {in});
        EXPECT_EQ(labels.back(), head_dim < 132 ? "rms_norm_heads" : "rms_norm_32");
        const auto rows = op::RmsNorm{.eps = heads.eps, .weight = name};
        const auto b = rig.run(rows, {head_dim, 15, 1, 1}, {in});
        EXPECT_EQ(a.error + b.error, "");
        EXPECT_EQ(a.values, b.values) << head_dim;
        const auto want = reference::rms_norm(reference::widened(x), weight, double{1e-6f});
        EXPECT_LE(nmse(a.values, want), kNormBar) << head_dim;
    }
}

TEST(MetalNorm, WritesOverItsSource) {
    for (const bool wide : {true, false}) {
        auto rig = metal_rig({.rms_norm_256 = wide});
        rig.weight("norm", random_floats(1027, 9));
        rig.weight("heads", random_floats(79, 10));
        for (const auto& [op, shape] :
             {std::pair<Op, Shape>{rms_norm(), {1027, 3, 1, 1}},
              {op::QkNorm{.eps = 1e-6f, .weight = "heads", .n_head = 13, .head_dim = 79},
               {1027, 3, 1, 1}}}) {
            const auto place = rig.floats(random_floats(1027 * 3, 11));
            const auto apart = rig.run(op, shape, {place}).values;
            EXPECT_EQ(rig.execute(op, shape, std::vector{place}, place), "");
            EXPECT_EQ(rig.view(place), apart);
        }
    }
}

TEST(MetalNorm, EpsilonCountsForSmallRows) {
    auto rig = metal_rig();
    const auto x = random_floats(64, 12, 1e-4f), weight = random_floats(64, 13);
    rig.weight("norm", weight);
    const auto got = rig.run(rms_norm(1e-5f), {64, 1, 1, 1}, {rig.floats(x)}).values;
    const auto wide = reference::widened(x);
    EXPECT_LE(nmse(got, reference::rms_norm(wide, weight, double{1e-5f})), kNormBar);
    EXPECT_GT(nmse(got, reference::rms_norm(wide, weight, 0)), 0.1);
}

// The row of an embedding on one backend, its norm on the other, either way round.
TEST(MetalNorm, metal_embed_then_rmsnorm_cross_backend) {
    constexpr size_t kWidth = 897, kVocab = 50;
    const auto table = random_floats(kWidth * kVocab, 22), weight = random_floats(kWidth, 23);
    const auto ids = std::vector<int32_t>{49, 0, 17};
    for (const auto embeds : {BackendId::Cpu, BackendId::Metal}) {
        const auto metal = metal_backend();
        const auto cpu = make_cpu_backend();
        for (Backend* const backend :
             {static_cast<Backend*>(metal.get()), static_cast<Backend*>(cpu.get())}) {
            for (const auto& w : {Weight{.name = "embd",
                                         .shape = {kWidth, kVocab, 1, 1},
                                         .data = std::as_bytes(std::span(table))},
                                  Weight{.name = "norm",
                                         .shape = {kWidth, 1, 1, 1},
                                         .data = std::as_bytes(std::span(weight))}}) {
                const auto added = backend->register_weight(w);
                ASSERT_TRUE(added) << added.error().what;
            }
            ASSERT_TRUE(backend->finish_weights());
        }
        const auto before = metal->counters().dispatches;
        auto runner =
            GraphRunner({metal.get(), cpu.get()}, [embeds](const GraphParams&) -> Result<Graph> {
                auto b = GraphBuilder();
                const auto tokens = b.input("token_ids", DType::I32, {3, 1, 1, 1});
                const auto rows =
                    b.embed("embd", tokens, {.weight = "embd", .width = kWidth, .vocab = kVocab});
                const auto normed = b.rms_norm("norm", rows, rms_norm());
                b.output(normed);
                auto graph = MINFER_TRY(b.finish());
                const bool on_cpu = embeds == BackendId::Cpu;
                graph.nodes[rows].backend = embeds;
                graph.nodes[normed].backend = on_cpu ? BackendId::Metal : BackendId::Cpu;
                return graph;
            });
        const auto bound = runner.bind({.gpu = true});
        ASSERT_TRUE(bound) << bound.error().what;
        ASSERT_TRUE(runner.write_input("token_ids", std::as_bytes(std::span(ids))));
        const auto done = runner.execute();
        ASSERT_TRUE(done) << done.error().what;
        auto got = std::vector<float>(kWidth * 3);
        ASSERT_TRUE(runner.read_output(0, got));
        const auto want = reference::rms_norm(reference::gather(table, kWidth, ids), weight,
                                              double{rms_norm().eps});
        EXPECT_LE(nmse(got, want), kNormBar);
        EXPECT_EQ(metal->counters().dispatches, before + 1);
        EXPECT_GE(runner.counters().boundary_copies, 1u);
    }
}

TEST(MetalNorm, metal_rms_norm_refuses_a_weight_not_on_gpu) {
    auto rig = metal_rig();
    const auto in = rig.floats(random_floats(64, 14));
    const auto refused = rig.run(rms_norm(), {64, 1, 1, 1}, {in});
    EXPECT_THAT(refused.error, HasSubstr("node 'tested' (RmsNorm"));
    EXPECT_THAT(refused.error, HasSubstr("weight 'norm' is not on the device"));
    rig.weight("norm", random_floats(64, 15));
    EXPECT_EQ(rig.run(rms_norm(), {64, 1, 1, 1}, {in}).error, "");
}

TEST(MetalNorm, metal_rms_norm_refuses_a_weightless_node) {
    auto rig = metal_rig();
    rig.weight("norm", random_floats(64, 16));
    const auto in = rig.floats(random_floats(64, 17));
    const auto refused = rig.run(op::RmsNorm{.eps = 1e-6f}, {64, 1, 1, 1}, {in});
    EXPECT_THAT(refused.error, HasSubstr("node 'tested' (RmsNorm"));
    EXPECT_THAT(refused.error, HasSubstr("names no weight"));
    EXPECT_EQ(rig.run(rms_norm(), {64, 1, 1, 1}, {in}).error, "");
}

TEST(MetalNorm, metal_qk_norm_refuses_a_weight_not_on_gpu) {
    auto rig = metal_rig();
    const auto in = rig.floats(random_floats(64 * 3, 18));
    const auto refused = rig.run(qk_norm(3, 64), {192, 1, 1, 1}, {in});
    EXPECT_THAT(refused.error, HasSubstr("node 'tested' (QkNorm"));
    EXPECT_THAT(refused.error, HasSubstr("weight 'norm' is not on the device"));
    rig.weight("norm", random_floats(64, 19));
    EXPECT_EQ(rig.run(qk_norm(3, 64), {192, 1, 1, 1}, {in}).error, "");
}

TEST(MetalNorm, AWeightOfAnotherWidthIsRefusedWithBothWidths) {
    auto rig = metal_rig();
    rig.weight("norm", random_floats(63, 20));
    const auto in = rig.floats(random_floats(64, 21));
    EXPECT_THAT(rig.run(rms_norm(), {64, 1, 1, 1}, {in}).error,
                HasSubstr("'norm' is F32 [63, 1], not F32 [64]"));
    EXPECT_THAT(rig.run(qk_norm(2, 63), {64, 1, 1, 1}, {in}).error,
                HasSubstr("64 elements are not rows of 63"));
}

}  // namespace
}  // namespace minfer::test
