#include <cmath>

#include "backend/cpu/rig.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuElementwise);

constexpr Shape kShapes[] = {{1, 1, 1, 1}, {3, 31, 1, 1}, {1, 4096, 1, 1}, {4097, 7, 1, 1}};

TEST_P(CpuElementwise, AddMulAndScaleRoundTheExactResultOnce) {
    for (const auto& shape : kShapes) {
        auto rig = Rig(options());
        const auto a = random_floats(elements(shape), 1), b = random_floats(elements(shape), 2);
        const auto in = std::vector{rig.floats(a), rig.floats(b)};
        const auto sum = rig.run(op::Add{}, shape, in);
        const auto product = rig.run(op::Mul{}, shape, in);
        const auto scaled = rig.run(op::Scale{.factor = 0.3f}, shape, {in[0]});
        for (size_t i = 0; i < a.size(); ++i) {
            ASSERT_EQ(sum.values[i], a[i] + b[i]);
            ASSERT_EQ(product.values[i], a[i] * b[i]);
            ASSERT_EQ(scaled.values[i], a[i] * 0.3f);
        }
    }
}

TEST_P(CpuElementwise, SiluAndSwigluMatchDoubleArithmetic) {
    for (const auto& shape : kShapes) {
        auto rig = Rig(options());
        const auto gate = random_floats(elements(shape), 3, 4), up = random_floats(gate.size(), 4);
        const auto in = std::vector{rig.floats(gate), rig.floats(up)};
        EXPECT_LE(nmse(rig.run(op::Silu{}, shape, {in[0]}).values,
                       reference::silu(reference::widened(gate))),
                  kSiluBar);
        EXPECT_LE(nmse(rig.run(op::SwiGlu{}, shape, in).values,
                       reference::swiglu(reference::widened(gate), reference::widened(up))),
                  kSiluBar);
    }
}

TEST_P(CpuElementwise, SiluKeepsItsLimitsAndNaN) {
    auto rig = Rig(options());
    const float inf = INFINITY;
    const auto x = std::vector<float>{0.f, 200.f, -200.f, -95.f, inf, -3e38f, NAN, 88.f, 1e-30f};
    const auto y = rig.run(op::Silu{}, {x.size(), 1, 1, 1}, {rig.floats(x)}).values;
    EXPECT_EQ(y[0], 0.f);
    EXPECT_EQ(y[1], 200.f);
    EXPECT_EQ(y[2], 0.f);
    EXPECT_LE(std::fabs(y[3]), 95 * std::exp(-88.f));
    EXPECT_EQ(y[4], inf);
    EXPECT_EQ(y[5], 0.f);
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_EQ(y[7], 88.f);
    EXPECT_EQ(y[8], 0.5e-30f);
}

TEST_P(CpuElementwise, FusedSwigluHasTheBitsOfSiluThenMul) {
    auto rig = Rig(options());
    const Shape shape{1003, 3, 1, 1};
    const auto gate = rig.floats(random_floats(elements(shape), 5, 3));
    const auto up = rig.floats(random_floats(elements(shape), 6));
    const auto activated = rig.floats(rig.run(op::Silu{}, shape, {gate}).values);
    EXPECT_EQ(rig.run(op::SwiGlu{}, shape, {gate, up}).values,
              rig.run(op::Mul{}, shape, {activated, up}).values);
}

TEST_P(CpuElementwise, AnElementHasTheSameBitsWhereverItStands) {
    auto rig = Rig(options());
    const auto x = random_floats(64, 7, 3);
    const auto whole = rig.run(op::Silu{}, {64, 1, 1, 1}, {rig.floats(x)}).values;
    for (size_t from = 0; from < 16; ++from) {
        const auto part = std::span(x).subspan(from, 33);
        const auto got = rig.run(op::Silu{}, {33, 1, 1, 1}, {rig.floats(part)}).values;
        EXPECT_TRUE(std::ranges::equal(got, std::span(whole).subspan(from, 33)));
    }
}

TEST_P(CpuElementwise, WritesOverItsFirstSource) {
    auto rig = Rig(options());
    const Shape shape{77, 3, 1, 1};
    const auto gate = random_floats(elements(shape), 8, 3), up = random_floats(gate.size(), 9);
    const auto up_ref = rig.floats(up);
    for (const Op& op : {Op(op::Silu{}), Op(op::SwiGlu{})}) {
        const auto place = rig.floats(gate);
        const auto apart = rig.run(op, shape, {place, up_ref}).values;
        EXPECT_EQ(rig.execute(op, shape, std::vector{place, up_ref}, place), "");
        EXPECT_TRUE(std::ranges::equal(rig.view(place), apart));
    }
}

TEST_P(CpuElementwise, ASourceThatIsTooShortIsNamedWithBothSizes) {
    auto rig = Rig(options());
    const auto a = rig.floats(random_floats(8, 1)), b = rig.floats(random_floats(7, 1));
    const auto error = rig.run(op::Add{}, {8, 1, 1, 1}, {a, b}).error;
    EXPECT_NE(error.find("tested"), std::string::npos) << error;
    EXPECT_NE(error.find("source 1 has 28 bytes, 8 elements need 32"), std::string::npos) << error;
}

}  // namespace
}  // namespace minfer::test
