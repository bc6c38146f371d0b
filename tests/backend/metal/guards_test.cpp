// What execute() refuses, each beside a call that differs in the refused property alone and runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/rig.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kInDim = 32, kHeadDim = 8, kContext = 4;

op::QkvProjection qkv_of(std::vector<std::string> weights) {
    return {.weights = std::move(weights),
            .dtype = DType::F32,
            .in_dim = kInDim,
            .n_head = 2,
            .n_head_kv = 1,
            .head_dim = kHeadDim,
            .freq_base = 1e4f,
            .layout = kv_layout(KvFormat::F32, kHeadDim),
            .n_ctx = kContext};
}

// A decode step of 2 query heads and 1 KV head of 8.
struct MetalGuards : testing::Test {
    OpRig rig = metal_rig();
    BufRef x = rig.floats(random_floats(kInDim, 1));
    BufRef cell = rig.ints({{1}});
    KvPair kv = {.k = rig.floats(random_floats(kHeadDim * kContext, 2)),
                 .v = rig.floats(random_floats(kHeadDim * kContext, 3))};

    MetalGuards() {
        matrix("q", 16);
        matrix("k", 8);
        matrix("v", 8);
        matrix("gate", 24);
        matrix("up", 24);
        rig.weight("q_bias", random_floats(16, 4));
        rig.weight("k_bias", random_floats(8, 5));
        rig.weight("v_bias", random_floats(8, 6));
        rig.weight("gain", random_floats(8, 7));
    }
    void matrix(const std::string& name, size_t rows, DType dtype = DType::F32) {
        rig.weight(name, dtype, {kInDim, rows, 1, 1}, random_rows(dtype, kInDim * rows, 8));
    }
    static op::FusedQkv biased(op::QkvProjection qkv = qkv_of({"q", "k", "v"})) {
        return {.qkv = std::move(qkv), .biases = {"q_bias", "k_bias", "v_bias"}};
    }
    static op::FusedQkvNorm normed(op::QkvProjection qkv = qkv_of({"q", "k", "v"})) {
        return {.qkv = std::move(qkv), .eps = 1e-6f, .q_norm = "gain", .k_norm = "gain"};
    }
    static op::FusedFfn ffn(std::vector<std::string> weights = {"gate", "up"}) {
        return {.weights = std::move(weights), .dtype = DType::F32, .in_dim = kInDim, .width = 24};
    }
    std::string project(const Op& op, int32_t position = 3) {
        return rig.run(op, {32, 1, 1, 1}, {x, rig.ints({{position}}), cell}, kv).error;
    }
    std::string feed(const Op& op) { return rig.run(op, {48, 1, 1, 1}, {x}).error; }
    // Of both projections.
    template <class Change>
    void expect_both_refuse(const Change& change, const std::string& message) {
        for (const bool with_norms : {false, true}) {
            const auto op_of = [&](op::QkvProjection qkv) {
                return with_norms ? Op{normed(std::move(qkv))} : Op{biased(std::move(qkv))};
            };
            auto changed = qkv_of({"q", "k", "v"});
            EXPECT_EQ(project(op_of(changed)), "");
            change(changed);
            EXPECT_THAT(project(op_of(changed)),
                        AllOf(HasSubstr("node 'tested' (FusedQkv"), HasSubstr(message)));
        }
    }
};

TEST_F(MetalGuards, AProjectionAtANegativePosition) {
    for (const auto& op : {Op{biased()}, Op{normed()}}) {
        EXPECT_EQ(project(op, 0), "");
        EXPECT_THAT(project(op, -1), HasSubstr("position -1 of token 0 is negative"));
    }
}

TEST_F(MetalGuards, AProjectionOfHeadsThatDoNotFit) {
    expect_both_refuse([](auto& qkv) { qkv.n_head_kv = 0; }, "2 query heads and 0 KV heads of 8");
    expect_both_refuse([](auto& qkv) { qkv.n_head = 0; }, "0 query heads and 1 KV heads of 8");
    expect_both_refuse([](auto& qkv) { qkv.n_head = 3, qkv.n_head_kv = 2; },
                       "3 query heads and 2 KV heads of 8");
    expect_both_refuse([](auto& qkv) { qkv.head_dim = 7; }, "KV heads of 7 (an even number)");
}

TEST_F(MetalGuards, AProjectionIntoCellsOfAnotherWidth) {
    expect_both_refuse([](auto& qkv) { qkv.layout = kv_layout(KvFormat::F32, 16); },
                       "cells of 16 elements, 1 KV heads of 8 need 8");
}

TEST_F(MetalGuards, AFusedNodeOfAnotherNumberOfMatrices) {
    expect_both_refuse([](auto& qkv) { qkv.weights.pop_back(); }, "2 weights, 1 or 3 are allowed");
    EXPECT_EQ(feed(ffn()), "");
    EXPECT_THAT(feed(ffn({"gate", "up", "q"})), HasSubstr("3 weights, 1 or 2 are allowed"));
}

// The type is at fault first, weights or not: it is cheaper to know.
TEST_F(MetalGuards, AFusedNodeOfATypeWithoutAKernel) {
    const auto message = std::string("no kernel multiplies weights of type IQ2_XXS; mul_mv_q4_0");
    expect_both_refuse([](auto& qkv) { qkv.dtype = DType::IQ2_XXS; }, message);
    expect_both_refuse(
        [](auto& qkv) {
            qkv.dtype = DType::IQ2_XXS;
            qkv.weights = {"missing", "k", "v"};
        },
        message);
    auto op = ffn();
    EXPECT_EQ(feed(op), "");
    op.dtype = DType::IQ2_XXS;
    EXPECT_THAT(feed(op), AllOf(HasSubstr("(FusedFfn"), HasSubstr(message)));
    op.weights = {"missing", "up"};
    EXPECT_THAT(feed(op), HasSubstr(message));
}

TEST_F(MetalGuards, AFusedNodeOfRowsThatAreNotWholeBlocks) {
    auto op = ffn();
    op.dtype = DType::Q4_K;
    EXPECT_THAT(feed(op), HasSubstr("rows of 32 weights, Q4_K needs multiples of 256"));
    op.dtype = DType::F32;
    EXPECT_EQ(feed(op), "");
}

TEST_F(MetalGuards, AFeedForwardOfMatricesOfAnotherShapeOrType) {
    matrix("tall", 25);
    matrix("half", 24, DType::F16);
    matrix("gate_up", 48);
    matrix("gate_up_tall", 49);
    EXPECT_EQ(feed(ffn()), "");
    EXPECT_THAT(feed(ffn({"gate", "tall"})),
                HasSubstr("weight 'tall' is F32 [32, 25], not F32 [32, 24]"));
    EXPECT_THAT(feed(ffn({"half", "up"})),
                HasSubstr("weight 'half' is F16 [32, 24], not F32 [32, 24]"));
    EXPECT_EQ(feed(ffn({"gate_up"})), "");
    EXPECT_THAT(feed(ffn({"gate_up_tall"})),
                HasSubstr("weight 'gate_up_tall' is F32 [32, 49], not F32 [32, 48]"));
}

TEST_F(MetalGuards, AWeightThatHasNoPlaceYet) {
    ASSERT_EQ(feed(ffn()), "");  // what is registered so far is placed
    const auto late = random_floats(kInDim * 24, 9);
    ASSERT_TRUE(rig.backend().register_weight(
        {.name = "late", .shape = {kInDim, 24, 1, 1}, .data = std::as_bytes(std::span(late))}));
    EXPECT_THAT(feed(ffn({"gate", "late"})),
                HasSubstr("weight 'late' was registered and not placed"));
    ASSERT_TRUE(rig.backend().finish_weights());
    EXPECT_EQ(feed(ffn({"gate", "late"})), "");
}

TEST_F(MetalGuards, AnOperationThatNoKernelRuns) {
    const auto run = [&](const Op& op) { return rig.run(op, {kInDim, 1, 1, 1}, {x}).error; };
    EXPECT_EQ(run(op::Silu{}), "");
    EXPECT_THAT(run(op::Scale{}), HasSubstr("Scale does not run on Metal"));
    EXPECT_THAT(run(op::Softmax{}), HasSubstr("Softmax does not run on Metal"));
}

}  // namespace
}  // namespace minfer::test
