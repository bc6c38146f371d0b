// Products through the production dispatch: right in every tier, and refused where no kernel is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "backend/metal/product_rig.h"
#include "backend/metal/rig.h"
#include "support/nmse.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Case {
    DType dtype;
    size_t in_dim, out_dim, n_tokens;

    std::vector<std::byte> weight() const { return random_rows(dtype, in_dim * out_dim, 11); }
    std::vector<float> x() const { return random_floats(in_dim * n_tokens, 12); }
    std::vector<float> bias() const { return random_floats(out_dim, 13); }
    std::string name() const {
        return fmt::format("{} {}x{} of {}", minfer::name(dtype), in_dim, out_dim, n_tokens);
    }
    op::MatMul op() const {
        return {.weight = fmt::format("{}-{}x{}", minfer::name(dtype), in_dim, out_dim),
                .dtype = dtype,
                .in_dim = in_dim,
                .out_dim = out_dim};
    }
    std::vector<double> product(std::span<const float> bias = {}) const {
        return reference::matmul(dequantized(dtype, weight()), bias, reference::widened(x()),
                                 in_dim);
    }
};

// Registers the weight unless an earlier case did.
OpRig::Outcome multiply(OpRig& rig, const Case& c, std::span<const float> x) {
    if (!rig.backend().find_weight(c.op().weight))
        rig.weight(c.op().weight, c.dtype, {c.in_dim, c.out_dim, 1, 1}, c.weight());
    const auto in = rig.floats(x);
    auto outcome = rig.run(c.op(), {c.out_dim, x.size() / c.in_dim, 1, 1}, {in});
    rig.free(in);
    return outcome;
}

// One odd number, and lengths that end before, inside and after what lanes take at a time.
std::vector<Case> cases(DType dtype, std::initializer_list<size_t> tokens) {
    const auto pick = [&](size_t of_1, size_t of_32, size_t of_256) {
        const auto block = info(dtype).block_values;
        return block == 1 ? of_1 : block == 32 ? of_32 : of_256;
    };
    auto all = std::vector<Case>();
    for (const size_t n_tokens : tokens) {
        all.push_back({dtype, pick(7, 32, 256), 1, n_tokens});
        all.push_back({dtype, pick(100, 96, 768), 7, n_tokens});
        all.push_back({dtype, pick(1000, 992, 1280), 60, n_tokens});
        all.push_back({dtype, pick(2063, 2080, 2304), 100, n_tokens});
    }
    return all;
}

class MetalMatmul : public testing::Test {
  protected:
    SoftwareMetal device_;
};

TEST_F(MetalMatmul, MatchesDoubleArithmeticInEveryTypeForOneTokenAndAFew) {
    for (const auto dtype : kWeightTypes) {
        auto rig = metal_rig();
        for (const auto& c : cases(dtype, {1, 2, 3, 5, 8})) {
            const auto got = multiply(rig, c, c.x());
            EXPECT_EQ(got.error, "") << c.name();
            EXPECT_LE(nmse(got.values, c.product()), kMatmulBar) << c.name();
        }
    }
}

TEST_F(MetalMatmul, MatchesDoubleArithmeticInEveryTypeForManyTokensWithoutMatrixKernels) {
    for (const auto dtype : kWeightTypes) {
        auto rig = metal_rig({.gemm = false});
        for (const auto& c : cases(dtype, {9, 33})) {
            const auto got = multiply(rig, c, c.x());
            EXPECT_EQ(got.error, "") << c.name();
            EXPECT_LE(nmse(got.values, c.product()), kMatmulBar) << c.name();
        }
    }
}

TEST_F(MetalMatmul, metal_matmul_f32_matches_cpu) {
    const auto c = Case{DType::F32, 896, 128, 3};
    auto metal = metal_rig(), cpu = cpu_rig();
    EXPECT_LE(nmse(multiply(metal, c, c.x()).values, multiply(cpu, c, c.x()).values), kMatmulBar);
}

// The shapes of Qwen2.5-0.5B's attention projections.
TEST_F(MetalMatmul, metal_matmul_q8_matches_cpu) {
    const auto c = Case{DType::Q8_0, 896, 128, 1};
    auto metal = metal_rig(), cpu = cpu_rig();
    EXPECT_LE(nmse(multiply(metal, c, c.x()).values, multiply(cpu, c, c.x()).values), kMatmulBar);
}

TEST_F(MetalMatmul, metal_matmul_q4_matches_reference) {
    const auto c = Case{DType::Q4_0, 896, 896, 1};
    auto rig = metal_rig();
    EXPECT_LE(nmse(multiply(rig, c, c.x()).values, c.product()), kMatmulBar);
}

TEST_F(MetalMatmul, AddsABiasToEveryToken) {
    for (const size_t n_tokens : {1, 3, 9}) {
        const auto c = Case{DType::F32, 64, 300, n_tokens};
        auto rig = metal_rig();
        rig.weight(c.op().weight, c.dtype, {c.in_dim, c.out_dim, 1, 1}, c.weight());
        rig.weight("bias", c.bias());
        auto op = c.op();
        op.bias = "bias";
        const auto got = rig.run(op, {c.out_dim, n_tokens, 1, 1}, {rig.floats(c.x())});
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, c.product(c.bias())), kMatmulBar);
    }
}

// Row i has the bits i where column i % width picks them, so a product is one widened weight.
TEST_F(MetalMatmul, bf16_matmul_matches_the_exact_shift_reference) {
    constexpr size_t kPatterns = 65536;
    for (const size_t width : {1, 8}) {
        auto patterns = std::vector<uint16_t>(kPatterns * width);
        for (size_t i = 0; i < kPatterns; ++i)
            patterns[i * width + i % width] = static_cast<uint16_t>(i);
        const auto ones = std::vector<float>(width, 1);
        const auto multiplied = [&](DType dtype) {
            auto rig = metal_rig();
            rig.weight("patterns", dtype, {width, kPatterns, 1, 1},
                       std::as_bytes(std::span(patterns)));
            return rig
                .run(op::MatMul{.weight = "patterns",
                                .dtype = dtype,
                                .in_dim = width,
                                .out_dim = kPatterns},
                     {kPatterns, 1, 1, 1}, {rig.floats(ones)})
                .values;
        };
        const auto differ = [&](DType dtype) {
            const auto got = multiplied(dtype);
            size_t count = 0;
            for (uint32_t i = 0; i < kPatterns; ++i) {
                const auto want = std::bit_cast<float>(i << 16);
                count += std::isnan(want) ? !std::isnan(got[i]) : got[i] != want;
            }
            return count;
        };
        EXPECT_EQ(differ(DType::BF16), 0u) << width;
        // The test sees it when another type's kernel reads them.
        EXPECT_GT(differ(DType::F16), kPatterns / 2) << width;
    }
}

TEST_F(MetalMatmul, metal_matmul_refuses_an_unkerneled_weight_dtype) {
    const auto run = [](DType dtype) {
        const auto c = Case{dtype, 256, 4, 1};
        auto rig = metal_rig();
        const auto bytes = c.weight();
        const auto done = rig.backend().register_weight({.name = c.op().weight,
                                                         .dtype = dtype,
                                                         .shape = {c.in_dim, c.out_dim, 1, 1},
                                                         .data = bytes});
        EXPECT_EQ(done.has_value(), dtype == DType::F32);
        EXPECT_TRUE(rig.backend().finish_weights());
        return rig.run(c.op(), {c.out_dim, 1, 1, 1}, {rig.floats(c.x())});
    };
    const auto control = run(DType::F32);
    EXPECT_EQ(control.error, "");
    EXPECT_LE(nmse(control.values, Case{DType::F32, 256, 4, 1}.product()), kMatmulBar);
    const auto refused = run(DType::Q2_K);
    EXPECT_THAT(refused.error,
                AllOf(HasSubstr("'tested'"), HasSubstr("Q2_K"), HasSubstr("mul_mv_q4_0")));
    for (const float value : refused.values) EXPECT_TRUE(std::isnan(value)) << "something ran";
}

// One property of a product that is right otherwise, and what the error must say of it.
TEST_F(MetalMatmul, RefusesWhatDoesNotFitTogether) {
    struct Wrong {
        std::function<void(op::MatMul&)> op = [](auto&) {};
        size_t x_floats = 64, out_rows = 5;
        std::vector<std::string> says;
    };
    const auto all = std::vector<Wrong>{
        {},
        {.op = [](auto& m) { m.in_dim = 48; }, .x_floats = 48, .says = {"48", "Q4_0", "32"}},
        {.op = [](auto& m) { m.in_dim = size_t{1} << 34; }, .says = {"17179869184", "4294966272"}},
        {.op = [](auto& m) { m.dtype = DType::Q4_1; }, .says = {"Q4_0 [64, 5]", "Q4_1"}},
        {.op = [](auto& m) { m.in_dim = 32; }, .x_floats = 32, .says = {"[64, 5]", "[32, 5]"}},
        {.op = [](auto& m) { m.out_dim = 6; }, .out_rows = 6, .says = {"[64, 5]", "[64, 6]"}},
        {.x_floats = 60, .says = {"240", "256"}},
        {.out_rows = 4, .says = {"16", "20"}},
        {.op = [](auto& m) { m.weight = "nowhere"; }, .says = {"nowhere"}},
        {.op = [](auto& m) { m.bias = "nowhere"; }, .says = {"nowhere"}},
        {.op = [](auto& m) { m.bias = "short"; }, .says = {"short", "4", "5"}},
    };
    for (size_t i = 0; i < all.size(); ++i) {
        const auto c = Case{DType::Q4_0, 64, 5, 1};
        auto rig = metal_rig();
        rig.weight(c.op().weight, c.dtype, {c.in_dim, c.out_dim, 1, 1}, c.weight());
        rig.weight("short", std::vector<float>(4));
        auto op = c.op();
        all[i].op(op);
        const auto got = rig.run(op, {all[i].out_rows, 1, 1, 1},
                                 {rig.floats(random_floats(all[i].x_floats, 12))});
        if (i == 0) {
            EXPECT_EQ(got.error, "");
            EXPECT_LE(nmse(got.values, c.product()), kMatmulBar);
            continue;
        }
        EXPECT_THAT(got.error, HasSubstr("node 'tested'")) << i;
        for (const auto& part : all[i].says) EXPECT_THAT(got.error, HasSubstr(part)) << i;
        for (const float value : got.values) EXPECT_TRUE(std::isnan(value)) << "something ran";
    }
}

}  // namespace
}  // namespace minfer::test
