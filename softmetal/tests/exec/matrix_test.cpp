// Products of simdgroup matrices: exact, however many the compiler's plugin puts together.
#include <array>
#include <cmath>

#include "softmetal/msl/compiler.h"
#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::HasSubstr;

using Matrix = std::array<float, 64>;  // row by row

// What the hardware does: eight products summed in float by fused operations, then the addend.
Matrix multiply_add(const Matrix& a, const Matrix& b, const Matrix& c) {
    Matrix d;
    for (size_t row = 0; row < 8; ++row) {
        for (size_t column = 0; column < 8; ++column) {
            float sum = a[row * 8] * b[column];
            for (size_t k = 1; k < 8; ++k) {
                sum = std::fma(a[row * 8 + k], b[k * 8 + column], sum);
            }
            d[row * 8 + column] = sum + c[row * 8 + column];
        }
    }
    return d;
}

constexpr const char* kSource = R"(#include <metal_stdlib>
using namespace metal;

typedef simdgroup_float8x8 Matrix;

kernel void one(device float* out [[buffer(0)]], device const float* in [[buffer(1)]]) {
    Matrix a, b, c;
    simdgroup_load(a, in);
    simdgroup_load(b, in + 64);
    simdgroup_load(c, in + 128);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_store(c, out);
}

// n x n sums over a depth of n, in one block of code.
template <uint n>
kernel void tile(device float* out [[buffer(0)]], device const float* in [[buffer(1)]]) {
    Matrix sum[n][n];
#pragma unroll
    for (uint i = 0; i < n * n; ++i) sum[i / n][i % n] = make_filled_simdgroup_matrix<float, 8, 8>(i);
#pragma unroll
    for (uint depth = 0; depth < n; ++depth) {
        Matrix left[n], right[n];
#pragma unroll
        for (uint i = 0; i < n; ++i) {
            simdgroup_load(left[i], in + (i * n + depth) * 64);
            simdgroup_load(right[i], in + (n * n + depth * n + i) * 64);
        }
#pragma unroll
        for (uint i = 0; i < n * n; ++i) {
            simdgroup_multiply_accumulate(sum[i / n][i % n], left[i / n], right[i % n],
                                          sum[i / n][i % n]);
        }
    }
#pragma unroll
    for (uint i = 0; i < n * n; ++i) simdgroup_store(sum[i / n][i % n], out + i * 64);
}
template [[host_name("tile_2")]] kernel void tile<2>(device float*, device const float*);
template [[host_name("tile_4")]] kernel void tile<4>(device float*, device const float*);
template [[host_name("tile_7")]] kernel void tile<7>(device float*, device const float*);

// Each product needs the one before it, and writes lie between.
kernel void powers(device float* out [[buffer(0)]], device const float* in [[buffer(1)]]) {
    Matrix a, power, zero = make_filled_simdgroup_matrix<float, 8, 8>(0.f);
    simdgroup_load(a, in);
    power = a;
#pragma unroll
    for (uint i = 0; i < 5; ++i) {
        simdgroup_multiply(power, power, a);
        simdgroup_store(power, out + i * 64);
    }
}

// Lanes change and read their elements on their own.
kernel void elements(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],
                     uint lane [[thread_index_in_simdgroup]]) {
    Matrix a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(0.f), d = c;
    simdgroup_load(a, in);
    simdgroup_load(b, in + 64);
    simdgroup_multiply_accumulate(c, a, b, c);
    if (lane % 3 == 0) b.thread_elements()[1] = 0;
    simdgroup_multiply_accumulate(d, a, b, d);
    if (lane & 1) out[128 + lane] = c.thread_elements()[0];
    simdgroup_store(c, out);
    simdgroup_store(d, out + 64);
}

kernel void halves(device half* out [[buffer(0)]], device const half* in [[buffer(1)]]) {
    simdgroup_half8x8 a, b, c, d;
    simdgroup_load(a, in);
    simdgroup_load(b, in + 64);
    simdgroup_load(c, in + 128);
    simdgroup_multiply_accumulate(d, a, b, c);
    simdgroup_multiply_accumulate(c, b, a, d);
    simdgroup_store(c, out);
    simdgroup_store(d, out + 64);
}

// Half of the lanes make one product, half another.
kernel void diverging(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],
                      uint lane [[thread_index_in_simdgroup]]) {
    Matrix a, b, c;
    simdgroup_load(a, in);
    simdgroup_load(b, in + 64);
    if (lane < 16) simdgroup_multiply(c, a, b);
    else simdgroup_multiply(c, b, a);
    simdgroup_store(c, out);
}
)";

class MatrixProducts : public ::testing::TestWithParam<bool> {
  protected:
    static void SetUpTestSuite() {
        const auto unit = msl::compile(kSource, "matrices.metal", "", {.cache = false});
        ASSERT_TRUE(unit) << unit.error();
        objects = {unit->plain, unit->checked};
    }

    void SetUp() override {
        const bool checked = GetParam();
        auto loaded = Module::load(objects[checked], {});
        ASSERT_TRUE(loaded) << loaded.error();
        module = *loaded;
        for (size_t i = 0; i < in.size(); ++i) {
            in[i] = static_cast<float>(static_cast<int>(i * 7919 % 2003) - 1000) * 0x1.3p-9f;
        }
    }
    Launch launch_for(const char* kernel, uint32_t threads = 32) {
        auto launch = launch_of(module, kernel, threads, 32, {out.data(), in.data()});
        ranges = {{.begin = out.data(), .bytes = out.size() * 4},
                  {.begin = in.data(), .bytes = in.size() * 4}};
        launch.memory = ranges;
        launch.checks = GetParam() ? Checks::All : Checks::Off;
        return launch;
    }
    Matrix input(size_t i) const {
        Matrix matrix;
        std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(i) * 64, 64, matrix.begin());
        return matrix;
    }
    Matrix output(size_t i) const {
        Matrix matrix;
        std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(i) * 64, 64, matrix.begin());
        return matrix;
    }

    static inline std::array<std::string, 2> objects;
    std::shared_ptr<const Module> module;
    std::vector<MemoryRange> ranges;
    std::vector<float> in = std::vector<float>(128 * 64), out = std::vector<float>(64 * 64);
};
INSTANTIATE_TEST_SUITE_P(PlainAndChecked, MatrixProducts, ::testing::Bool());

TEST_P(MatrixProducts, One) {
    EXPECT_EQ(error_of(launch_for("one")), "");
    EXPECT_EQ(output(0), multiply_add(input(0), input(1), input(2)));
}

TEST_P(MatrixProducts, ManyInOneBlock) {
    for (const size_t n : {2, 4, 7}) {
        EXPECT_EQ(error_of(launch_for(("tile_" + std::to_string(n)).c_str())), "");
        for (size_t i = 0; i < n * n; ++i) {
            Matrix sum;
            sum.fill(static_cast<float>(i));
            for (size_t depth = 0; depth < n; ++depth) {
                sum = multiply_add(input(i / n * n + depth), input(n * n + depth * n + i % n), sum);
            }
            EXPECT_EQ(output(i), sum) << "of " << n << " x " << n << ", " << i;
        }
    }
}

TEST_P(MatrixProducts, GiveTheSameServedInTurns) {
    EXPECT_EQ(error_of(launch_for("tile_4")), "");
    const auto expected = out;
    out.assign(out.size(), 0);
    auto launch = launch_for("tile_4");
    launch.serve_lowest_site_first = true;
    EXPECT_EQ(error_of(launch), "");
    EXPECT_EQ(out, expected);
}

TEST_P(MatrixProducts, ThatNeedEachOther) {
    EXPECT_EQ(error_of(launch_for("powers")), "");
    auto power = input(0);
    for (size_t i = 0; i < 5; ++i) {
        power = multiply_add(power, input(0), {});
        EXPECT_EQ(output(i), power);
    }
}

TEST_P(MatrixProducts, OfElementsThatLanesChanged) {
    EXPECT_EQ(error_of(launch_for("elements")), "");
    const auto c = multiply_add(input(0), input(1), {});
    EXPECT_EQ(output(0), c);
    auto b = input(1);
    for (uint32_t lane = 0; lane < 32; lane += 3) {
        b[sm_matrix_row(lane) * 8 + sm_matrix_column(lane) + 1] = 0;
    }
    EXPECT_EQ(output(1), multiply_add(input(0), b, {}));
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const float expected = c[sm_matrix_row(lane) * 8 + sm_matrix_column(lane)];
        EXPECT_EQ(out[128 + lane], lane % 2 == 1 ? expected : 0.f);
    }
}

TEST_P(MatrixProducts, OfHalvesAreRoundedOnce) {
    const auto round = [](Matrix m) {
        for (float& value : m) value = static_cast<float>(static_cast<_Float16>(value));
        return m;
    };
    auto halves = std::vector<_Float16>(in.begin(), in.begin() + 192), result = halves;
    auto launch = launch_for("halves");
    launch.buffers = {result.data(), halves.data()};
    ranges = {{.begin = result.data(), .bytes = 384}, {.begin = halves.data(), .bytes = 384}};
    launch.memory = ranges;
    EXPECT_EQ(error_of(launch), "");
    const auto a = round(input(0)), b = round(input(1));
    const auto d = round(multiply_add(a, b, round(input(2))));
    const auto c = round(multiply_add(b, a, d));
    for (size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(static_cast<float>(result[i]), c[i]);
        EXPECT_EQ(static_cast<float>(result[64 + i]), d[i]);
    }
}

TEST_P(MatrixProducts, MissingLanesCountAsZeros) {
    EXPECT_EQ(error_of(launch_for("one", 20)), "");
    auto a = input(0), b = input(1);
    for (uint32_t lane = 20; lane < 32; ++lane) {
        const uint32_t place = sm_matrix_row(lane) * 8 + sm_matrix_column(lane);
        a[place] = a[place + 1] = b[place] = b[place + 1] = 0;
    }
    const auto expected = multiply_add(a, b, input(2));
    for (uint32_t lane = 0; lane < 20; ++lane) {
        const uint32_t place = sm_matrix_row(lane) * 8 + sm_matrix_column(lane);
        EXPECT_EQ(out[place], expected[place]);
        EXPECT_EQ(out[place + 1], expected[place + 1]);
    }
}

TEST_P(MatrixProducts, InTwoBranchesDiverge) {
    EXPECT_THAT(error_of(launch_for("diverging")),
                HasSubstr("lanes of SIMD group 0 wait at different places: threads 0-15 at "
                          "matrices.metal:"));
    auto launch = launch_for("diverging");
    launch.serve_lowest_site_first = true;
    EXPECT_EQ(error_of(launch), "");
    auto upper = input(0), other = input(1);  // lanes 0 to 15 have rows 0 to 3
    std::fill(upper.begin() + 32, upper.end(), 0.f);
    std::fill(other.begin() + 32, other.end(), 0.f);
    const auto expected = multiply_add(upper, other, {});
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 32, out.begin()));
}

// Only if the plugin does its work is any of this fast.
TEST_P(MatrixProducts, AreMergedWhereTheyStandTogether) {
    const auto& object = objects[GetParam()];
    EXPECT_THAT(object, HasSubstr("sm_matrix_products"));
}

}  // namespace
}  // namespace softmetal::exec
