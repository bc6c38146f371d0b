#include "backend/metal/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backend/metal/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using reference::widened;
using testing::HasSubstr;

TEST(MetalElementwise, FourElementsGoToAThreadAndTheRestToTheLast) {
    EXPECT_EQ(*metal::plan_elementwise(1), (metal::Launch{{1}, {256}}));
    EXPECT_EQ(*metal::plan_elementwise(1024), (metal::Launch{{1}, {256}}));
    EXPECT_EQ(*metal::plan_elementwise(1025), (metal::Launch{{2}, {256}}));
}

// Sums and products to the bit; the activations as closely as their exponential allows.
TEST(MetalElementwise, metal_elementwise_matches_cpu) {
    auto metal = metal_rig();
    auto cpu = cpu_rig();
    for (const size_t n : {1, 3, 4, 1023, 4097}) {
        const auto shape = Shape{n, 1, 1, 1};
        const auto a = random_floats(n, 1, 4), b = random_floats(n, 2, 4);
        const auto both = [&](const Op& op, bool binary) {
            auto on_metal = std::vector{metal.floats(a)}, on_cpu = std::vector{cpu.floats(a)};
            if (binary) {
                on_metal.push_back(metal.floats(b));
                on_cpu.push_back(cpu.floats(b));
            }
            const auto got = metal.run(op, shape, on_metal);
            const auto want = cpu.run(op, shape, on_cpu);
            EXPECT_EQ(got.error + want.error, "");
            return std::pair{got.values, want.values};
        };
        const auto [sum, cpu_sum] = both(op::Add{}, true);
        EXPECT_EQ(sum, cpu_sum);
        const auto [product, cpu_product] = both(op::Mul{}, true);
        EXPECT_EQ(product, cpu_product);
        for (size_t i = 0; i < n; ++i) {
            ASSERT_EQ(sum[i], a[i] + b[i]) << n << " at " << i;
            ASSERT_EQ(product[i], a[i] * b[i]) << n << " at " << i;
        }
        const auto [silu, cpu_silu] = both(op::Silu{}, false);
        EXPECT_LE(nmse(silu, reference::silu(widened(a))), kSiluBar);
        EXPECT_LE(nmse(silu, cpu_silu), kSiluBar);
        const auto [gated, cpu_gated] = both(op::SwiGlu{}, true);
        EXPECT_LE(nmse(gated, reference::swiglu(widened(a), widened(b))), kSiluBar);
        EXPECT_LE(nmse(gated, cpu_gated), kSiluBar);
    }
}

TEST(MetalElementwise, WritesOverItsFirstSource) {
    auto rig = metal_rig();
    const auto a = random_floats(1027, 3), b = random_floats(1027, 4);
    const auto shape = Shape{1027, 1, 1, 1};
    for (const auto& op : {Op{op::Add{}}, Op{op::Mul{}}, Op{op::SwiGlu{}}, Op{op::Silu{}}}) {
        auto in = std::vector{rig.floats(a)};
        if (!std::holds_alternative<op::Silu>(op)) in.push_back(rig.floats(b));
        const auto apart = rig.run(op, shape, in).values;
        EXPECT_EQ(rig.execute(op, shape, in, in[0]), "");
        EXPECT_EQ(rig.view(in[0]), apart) << op_name(op);
    }
}

TEST(MetalElementwise, SiluOfHugeValuesIsZeroOrTheValue) {
    auto rig = metal_rig();
    const auto x = std::vector<float>{-1e4f, -90, 90, 1e30f, -3e38f, 0};
    const auto got = rig.run(op::Silu{}, {6, 1, 1, 1}, {rig.floats(x)}).values;
    EXPECT_EQ(got, (std::vector<float>{0, got[1], 90, 1e30f, 0, 0}));
    EXPECT_LT(std::abs(got[1]), 1e-36f);
}

TEST(MetalElementwise, ASourceOfAnotherLengthIsRefusedWithBothLengths) {
    auto rig = metal_rig();
    const auto a = rig.floats(random_floats(8, 5)), b = rig.floats(random_floats(7, 6));
    const auto error = rig.run(op::Add{}, {8, 1, 1, 1}, {a, b}).error;
    EXPECT_THAT(error, HasSubstr("node 'tested' (Add"));
    EXPECT_THAT(error, HasSubstr("source 1 has 28 bytes, 32 are wanted"));
    EXPECT_THAT(rig.run(op::Add{}, {8, 1, 1, 1}, {a}).error, HasSubstr("source 1 is missing"));
}

}  // namespace
}  // namespace minfer::test
