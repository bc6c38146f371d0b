#include <cmath>
#include <cstddef>

#include "backend/cpu/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
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

std::vector<double> product(const Case& c, std::span<const float> x) {
    const auto w = dequantized(c.dtype, c.weight());
    const auto bias = c.bias ? c.bias_values() : std::vector<float>();
    return reference::matmul(w, bias, reference::widened(x), c.in_dim);
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
        EXPECT_LE(nmse(got.values, product(c, c.x())), kMatmulBar)
            << name(c.dtype) << " " << c.in_dim << "x" << c.out_dim << "x" << c.n_tokens;
    }
}

// Copies the half-float scales of every block from one set of rows to another.
void keep_block_scales(DType dtype, std::span<const std::byte> from, std::span<std::byte> to) {
    const auto copy = [&](size_t offset, size_t bytes) {
        for (size_t at = 0; at < to.size(); at += info(dtype).block_bytes)
            std::memcpy(&to[at + offset], &from[at + offset], bytes);
    };
    switch (dtype) {
        case DType::F32:
        case DType::F16:
        case DType::BF16:
            return copy(0, info(dtype).block_bytes);
        case DType::Q4_1:
        case DType::Q5_1:
        case DType::Q4_K:
        case DType::Q5_K:
            return copy(0, 4);
        case DType::Q2_K:
            return copy(offsetof(BlockQ2_K, d), 4);
        case DType::Q3_K:
            return copy(offsetof(BlockQ3_K, d), 2);
        case DType::Q6_K:
            return copy(offsetof(BlockQ6_K, d), 2);
        default:
            return copy(0, 2);
    }
}

// What the kernels make of an activation row: blocks of 32 or 256, largest value to 127.
std::vector<float> rounded(std::span<const float> x, size_t block) {
    auto out = std::vector<float>(x.size());
    for (size_t at = 0; at < x.size(); at += block) {
        float largest = 0;
        for (size_t i = at; i < at + block; ++i) largest = std::fmax(largest, std::fabs(x[i]));
        for (size_t i = at; i < at + block && largest > 0; ++i)
            out[i] = std::nearbyint(x[i] * (127 / largest)) * (largest / 127);
    }
    return out;
}

// 0 for the types whose activations stay f32.
size_t activation_block(DType dtype) {
    switch (dtype) {
        case DType::Q4_0:
        case DType::Q4_1:
        case DType::Q5_0:
        case DType::Q5_1:
        case DType::Q8_0:
            return 32;
        case DType::Q4_K:
        case DType::Q5_K:
        case DType::Q6_K:
            return 256;
        default:
            return 0;
    }
}

TEST_P(CpuMatmul, QuantizedModeDiffersByTheRoundingOfActivationsAndNothingElse) {
    for (const auto& c : cases()) {
        auto rig = Rig(options());
        const auto x = c.x();
        const auto got = multiply(rig, c, x);
        const auto block = activation_block(c.dtype);
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, product(c, block ? rounded(x, block) : x)), kMatmulBar)
            << name(c.dtype) << " " << c.in_dim << "x" << c.out_dim << "x" << c.n_tokens;
        // One product of one block is no statistic.
        if (c.out_dim > 1)
            EXPECT_LE(nmse(got.values, product(c, x)), kQuantizedActivationBar) << name(c.dtype);
    }
}

TEST_P(CpuMatmul, ExtremeQuantsDoNotOverflowTheIntegerSums) {
    for (const auto dtype : kTypes) {
        for (const int fill : {0x00, 0x7f, 0x80, 0xff}) {
            auto c = Case{dtype, 512, 4, 2};
            auto rows = c.weight();
            // All quants and group scales alike; the block scales stay ordinary.
            const auto random = rows;
            std::ranges::fill(rows, static_cast<std::byte>(fill));
            keep_block_scales(dtype, random, rows);
            const auto w = dequantized(dtype, rows);
            for (const float value : {1.f, -1.f}) {
                auto rig = Rig(options());
                rig.weight("w", dtype, {512, 4, 1, 1}, rows);
                const auto x = std::vector<float>(512, value);
                const auto matmul =
                    op::MatMul{.weight = "w", .dtype = dtype, .in_dim = 512, .out_dim = 4};
                const auto want = reference::matmul(w, {}, reference::widened(x), 512);
                EXPECT_LE(nmse(rig.run(matmul, {4, 1, 1, 1}, {rig.floats(x)}).values, want),
                          kMatmulBar)
                    << name(dtype) << " filled with " << fill;
            }
        }
    }
}

TEST_P(CpuMatmul, AnActivationThatIsNotFiniteShowsInEveryOutputOfItsToken) {
    for (const auto dtype : {DType::Q4_0, DType::Q5_1, DType::Q4_K, DType::Q6_K, DType::F16}) {
        const auto c = Case{dtype, 512, 5, 3};
        for (const float bad : {NAN, INFINITY, -INFINITY}) {
            auto rig = Rig(options());
            auto x = c.x();
            x[512 + 300] = bad;
            const auto got = multiply(rig, c, x).values;
            for (size_t i = 0; i < got.size(); ++i)
                EXPECT_EQ(std::isfinite(got[i]), i / 5 != 1) << name(dtype) << " " << i;
        }
    }
}

TEST_P(CpuMatmul, ZeroAndTinyActivationsGiveZeros) {
    for (const auto dtype : {DType::Q8_0, DType::Q4_1, DType::Q6_K}) {
        const auto c = Case{dtype, 256, 5, 1};
        for (const float tiny : {0.f, 1e-40f}) {
            auto rig = Rig(options());
            const auto x = std::vector<float>(256, tiny);
            for (const auto y : multiply(rig, c, x).values) EXPECT_LE(std::fabs(y), 1e-35f);
        }
    }
}

TEST(CpuMatmulIsas, InstructionSetsAgreeWithinRounding) {
    for (const auto& c : cases()) {
        auto scalar = Rig({.isa = CpuIsa::Scalar});
        const auto want = multiply(scalar, c, c.x()).values;
        for (const auto isa : cpu_isas()) {
            auto rig = Rig({.isa = isa});
            EXPECT_LE(nmse(multiply(rig, c, c.x()).values, want), kMatmulBar)
                << name(c.dtype) << " " << isa_name(isa);
        }
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
