#include <cmath>

#include "backend/cpu/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuMatmul);

constexpr DType kTypes[] = {
    DType::F32,  DType::F16,  DType::BF16, DType::Q4_0,   DType::Q4_1,
    DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K,   DType::Q3_K,
    DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS,
};

struct Case {
    DType dtype;
    size_t in_dim, out_dim, n_tokens;
    bool bias = false;

    std::vector<std::byte> weight() const { return random_rows(dtype, in_dim * out_dim, 11); }
    std::vector<float> x() const { return random_floats(in_dim * n_tokens, 12); }
    std::vector<float> bias_values() const { return random_floats(out_dim, 13); }
};

Rig::Outcome multiply(Rig& rig, const Case& c, std::span<const float> x) {
    // A rig that saw this weight before keeps it.
    const auto weight = fmt::format("{}-{}x{}", name(c.dtype), c.in_dim, c.out_dim);
    const auto bias = fmt::format("bias-{}", c.out_dim);
    if (!rig.backend().find_weight(weight))
        rig.weight(weight, c.dtype, {c.in_dim, c.out_dim, 1, 1}, c.weight());
    if (!rig.backend().find_weight(bias)) rig.weight(bias, c.bias_values());
    const auto matmul = op::MatMul{.weight = weight,
                                   .bias = c.bias ? bias : "",
                                   .dtype = c.dtype,
                                   .in_dim = c.in_dim,
                                   .out_dim = c.out_dim};
    return rig.run(matmul, {c.out_dim, x.size() / c.in_dim, 1, 1}, {rig.floats(x)});
}

std::vector<double> reference(const Case& c, std::span<const float> x) {
    const auto w = dequantized(c.dtype, c.weight());
    const auto bias = c.bias_values();
    auto out = std::vector<double>(c.out_dim * (x.size() / c.in_dim));
    for (size_t i = 0; i < out.size(); ++i) {
        const auto row = i % c.out_dim * c.in_dim, token = i / c.out_dim * c.in_dim;
        double sum = c.bias ? bias[i % c.out_dim] : 0;
        for (size_t j = 0; j < c.in_dim; ++j) sum += double{w[row + j]} * x[token + j];
        out[i] = sum;
    }
    return out;
}

std::vector<Case> cases() {
    auto all = std::vector<Case>();
    for (const auto dtype : kTypes) {
        const size_t block = info(dtype).block_values;
        all.push_back({dtype, size_t{block}, 1, 1});
        all.push_back({dtype, block == 1 ? size_t{37} : block * 3, 7, 1, true});
        all.push_back({dtype, block == 1 ? size_t{515} : size_t{768}, 13, 5});
        all.push_back({dtype, 1024, 67, 3, true});
    }
    return all;
}

TEST_P(CpuMatmul, ExactModeMatchesDoubleArithmeticInEveryType) {
    for (const auto& c : cases()) {
        auto rig = Rig({.activations = CpuActivations::F32, .isa = GetParam()});
        const auto got = multiply(rig, c, c.x());
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, reference(c, c.x())), kMatmulBar)
            << name(c.dtype) << " " << c.in_dim << "x" << c.out_dim << "x" << c.n_tokens;
    }
}

constexpr CpuActivations kModes[] = {CpuActivations::Quantized, CpuActivations::F32};

TEST_P(CpuMatmul, AnyThreadCountGivesTheSameBits) {
    for (const auto mode : kModes) {
        auto one = Rig({.threads = 1, .activations = mode, .isa = GetParam()});
        auto two = Rig({.threads = 2, .activations = mode, .isa = GetParam()});
        auto five = Rig({.threads = 5, .activations = mode, .isa = GetParam()});
        for (const auto dtype : kTypes) {
            const auto c = Case{dtype, 256, 83, 5, true};
            const auto want = multiply(one, c, c.x()).values;
            EXPECT_EQ(multiply(two, c, c.x()).values, want) << name(dtype);
            EXPECT_EQ(multiply(five, c, c.x()).values, want) << name(dtype);
        }
    }
}

TEST_P(CpuMatmul, ARowHasTheSameBitsAloneAndAmongOthers) {
    for (const auto mode : kModes) {
        auto rig = Rig({.activations = mode, .isa = GetParam()});
        for (const auto dtype : kTypes) {
            const auto c = Case{dtype, 768, 39, 11, true};
            const auto x = c.x();
            const auto together = multiply(rig, c, x).values;
            for (const size_t piece : {1, 3, 4}) {
                auto pieces = std::vector<float>();
                for (size_t t = 0; t < c.n_tokens; t += piece) {
                    const auto n = std::min(piece, c.n_tokens - t);
                    const auto part = std::span(x).subspan(t * c.in_dim, n * c.in_dim);
                    const auto got = multiply(rig, c, part).values;
                    pieces.insert(pieces.end(), got.begin(), got.end());
                }
                EXPECT_EQ(pieces, together) << name(dtype) << " in pieces of " << piece;
            }
        }
    }
}

TEST_P(CpuMatmul, AWeightOfAnotherShapeIsRefusedByName) {
    auto rig = Rig(options());
    rig.weight("w", DType::F32, {8, 4, 1, 1}, random_rows(DType::F32, 32, 1));
    const auto error =
        rig.run(op::MatMul{.weight = "w", .dtype = DType::F32, .in_dim = 8, .out_dim = 5},
                {5, 1, 1, 1}, {rig.floats(random_floats(8, 1))})
            .error;
    EXPECT_NE(error.find("weight 'w' is F32 [8, 4], F32 [8, 5] is needed"), std::string::npos)
        << error;
}

}  // namespace
}  // namespace minfer::test
