#include "backend/metal/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/nmse.h"
#include "support/op_rig.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/software_metal.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

constexpr DType kTypes[] = {DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                            DType::Q8_0, DType::Q4_K, DType::Q5_K, DType::Q6_K,
                            DType::F16,  DType::BF16, DType::F32};

struct Case {
    DType dtype;
    size_t in_dim, out_dim, n_tokens;

    std::vector<std::byte> weight() const { return random_rows(dtype, in_dim * out_dim, 11); }
    std::vector<float> x() const { return random_floats(in_dim * n_tokens, 12); }
    std::string name() const {
        return fmt::format("{} {}x{} of {}", minfer::name(dtype), in_dim, out_dim, n_tokens);
    }
    std::vector<double> product() const {
        return reference::matmul(dequantized(dtype, weight()), {}, reference::widened(x()), in_dim);
    }
};

class MetalMatmul : public testing::Test {
  protected:
    std::unique_ptr<MetalBackend> backend(const MetalOptions& options = {}) {
        auto made = make_metal_backend(options);
        EXPECT_TRUE(made) << made.error().what;
        return *std::move(made);
    }

    // The product of the first rows of x, as the production dispatch computes it.
    static OpRig::Outcome multiply(OpRig& rig, const Case& c, std::span<const float> x) {
        const auto weight = fmt::format("{}-{}x{}", name(c.dtype), c.in_dim, c.out_dim);
        if (!rig.backend().find_weight(weight))
            rig.weight(weight, c.dtype, {c.in_dim, c.out_dim, 1, 1}, c.weight());
        const auto in = rig.floats(x);
        auto outcome = rig.run(
            op::MatMul{
                .weight = weight, .dtype = c.dtype, .in_dim = c.in_dim, .out_dim = c.out_dim},
            {c.out_dim, x.size() / c.in_dim, 1, 1}, {in});
        rig.free(in);
        return outcome;
    }

    SoftwareMetal device_;
};

std::vector<Case> cases(DType dtype) {
    const auto pick = [&](size_t of_1, size_t of_32, size_t of_256) {
        const auto block = info(dtype).block_values;
        return block == 1 ? of_1 : block == 32 ? of_32 : of_256;
    };
    auto all = std::vector<Case>();
    for (const size_t n_tokens : {1, 2, 3, 5, 8, 9, 33}) {
        all.push_back({dtype, pick(7, 32, 256), 1, n_tokens});
        all.push_back({dtype, pick(100, 96, 768), 7, n_tokens});
        all.push_back({dtype, pick(1000, 992, 1280), 60, n_tokens});
        all.push_back({dtype, pick(2063, 2080, 2304), 100, n_tokens});
    }
    return all;
}

TEST_F(MetalMatmul, MatchesDoubleArithmeticInEveryTypeAndTier) {
    for (const auto& options : {MetalOptions{.gemm_f32_tiles = true}, MetalOptions{.gemm = false}})
        for (const auto dtype : kTypes) {
            auto rig = OpRig(backend(options));
            for (const auto& c : cases(dtype)) {
                const auto got = multiply(rig, c, c.x());
                EXPECT_EQ(got.error, "") << c.name();
                EXPECT_LE(nmse(got.values, c.product()), kMatmulBar) << c.name();
            }
        }
}

}  // namespace
}  // namespace minfer::test
