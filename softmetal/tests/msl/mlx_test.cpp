// Other people's kernels: MLX's own headers, instantiated with MLX's own macro in mlx/*.metal. All
// of them compile; some of each family run and are compared with plain loops in double.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "softmetal/msl/process.h"
#include "softmetal/tests/msl/kernel_runner.h"

namespace softmetal::msl::test {
namespace {

Program mlx(const std::string& family, bool checked = false) {
    const auto folder = std::filesystem::path(SOFTMETAL_TEST_FOLDER) / "mlx";
    const auto source = read_file(folder / (family + ".metal"));
    EXPECT_TRUE(source);
    CompileOptions options = {.checked = checked, .cache = false};
    options.include_folders.emplace_back(SOFTMETAL_MLX_INCLUDE);
    return Program(source ? *source : "", family + ".metal", folder, options);
}

std::vector<float> noise(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> distribution;
    std::vector<float> out(n);
    for (auto& x : out) x = distribution(random);
    return out;
}

// Normalised mean squared error.
double error_of(const std::vector<float>& got, const std::vector<double>& expected) {
    double error = 0, scale = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double difference = got[i] - expected[i];
        error += difference * difference;
        scale += expected[i] * expected[i];
    }
    return std::isfinite(error) ? error / scale : INFINITY;
}
constexpr double kFloatError = 1e-12;

TEST(Mlx, ElementwiseKernels) {
    auto program = mlx("elementwise", /*checked=*/true);
    ASSERT_TRUE(program);
    auto a = noise(1003, 1), b = noise(1003, 2);
    std::vector<float> out(1003);
    uint32_t n = 1003;
    program.run("vv_add_float", {502}, {64},
                {bytes_of(a), bytes_of(b), bytes_of(out), bytes_of(n)});
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], a[i] + b[i]);
    program.run("v_erfinv_float", {502}, {64}, {bytes_of(b), bytes_of(out), bytes_of(n)});
    for (size_t i = 0; i < n; ++i)
        if (std::abs(b[i]) < 0.999f) EXPECT_NEAR(std::erf(double(out[i])), b[i], 1e-5);

    // A transposed copy of a 3 x 5 matrix, addressed by shape and strides.
    std::vector<float> matrix(15);
    std::iota(matrix.begin(), matrix.end(), 0.f);
    std::vector<_Float16> copy(15);
    const int shape[2] = {5, 3}, dimensions = 2;
    const int64_t strides[2] = {1, 5};
    program.run("copy_g_float_half", {1, 5}, {1, 5},
                {bytes_of(matrix),
                 bytes_of(copy),
                 bytes_of(shape),
                 bytes_of(strides),
                 {},
                 bytes_of(dimensions)});
    for (int i = 0; i < 5; ++i)
        for (int k = 0; k < 3; ++k) EXPECT_EQ(float(copy[i * 3 + k]), matrix[k * 5 + i]);
}

TEST(Mlx, Reductions) {
    auto program = mlx("reductions");
    ASSERT_TRUE(program);
    auto x = noise(4 * 512, 3);
    std::vector<float> out(4 * 512);
    int axis = 512;
    program.run("softmax_float", {4 * 128}, {128}, {bytes_of(x), bytes_of(out), bytes_of(axis)});
    std::vector<double> expected(x.size());
    for (size_t row = 0; row < 4; ++row) {
        double sum = 0;
        for (size_t i = 0; i < 512; ++i)
            sum += expected[row * 512 + i] = std::exp(double(x[row * 512 + i]));
        for (size_t i = 0; i < 512; ++i) expected[row * 512 + i] /= sum;
    }
    EXPECT_LT(error_of(out, expected), kFloatError);

    auto sorted = std::vector<float>(x.begin(), x.begin() + 512);
    int one = 1, segment = 512;
    program.run("sort_float", {128}, {128},
                {bytes_of(x), bytes_of(out), bytes_of(axis), bytes_of(one), bytes_of(one),
                 bytes_of(segment), bytes_of(segment)});
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < 512; ++i) EXPECT_EQ(out[i], sorted[i]) << i;

    size_t row_size = 512;
    program.run("scan_sum_float", {128}, {128}, {bytes_of(x), bytes_of(out), bytes_of(row_size)});
    double sum = 0;
    for (size_t i = 0; i < 512; ++i) EXPECT_NEAR(out[i], sum += x[i], 1e-4);
}

TEST(Mlx, MatrixProducts) {
    auto program = mlx("matmul");
    ASSERT_TRUE(program);
    constexpr int M = 40, N = 72, K = 50;
    struct {
        int m = M, n = N, k = K, lda = K, ldb = N, ldd = N, tiles_n = 3, tiles_m = 2;
        int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_d = 0;
        int swizzle_log = 0, gemm_k_iterations_aligned = K / 16, batch_ndim = 0;
    } parameters;
    auto a = noise(M * K, 5), b = noise(K * N, 6);
    std::vector<float> d(M * N, -1);
    std::vector<double> expected(M * N);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
            for (int k = 0; k < K; ++k) expected[i * N + j] += double(a[i * K + k]) * b[k * N + j];
    // Ragged at all three edges.
    program.load({flag(10, false), flag(100, false), flag(110, false), flag(200, false),
                  flag(201, false), flag(202, false)});
    program.run("gemm_nn_float", {3 * 32, 2 * 2, 2}, {32, 2, 2},
                {bytes_of(a), bytes_of(b), {}, bytes_of(d), bytes_of(parameters)});
    EXPECT_LT(error_of(d, expected), kFloatError);
}

TEST(Mlx, GatheredMatrixProductsCompile) { EXPECT_TRUE(mlx("matmul_gather")); }

TEST(Mlx, QuantisedMatrices) {
    auto program = mlx("quantized");
    ASSERT_TRUE(program);
    constexpr int kRows = 24, kColumns = 512, kGroup = 64;
    auto w = noise(kRows * kColumns, 7), x = noise(kColumns, 8);
    std::vector<uint8_t> packed(w.size() / 2);
    std::vector<float> scales(w.size() / kGroup), biases(scales.size()), back(w.size()), y(kRows);
    // Each thread takes two values.
    program.run("quantize_float_4", {kRows * kColumns / 2}, {32},
                {bytes_of(w), bytes_of(packed), bytes_of(scales), bytes_of(biases)});
    program.run("dequantize_float_4", {kRows * kColumns / 2}, {32},
                {bytes_of(packed), bytes_of(scales), bytes_of(biases), bytes_of(back)});
    const std::vector<double> exact(w.begin(), w.end());
    EXPECT_LT(error_of(back, exact), 1e-2);
    EXPECT_GT(error_of(back, exact), 1e-4) << "four bits cannot be this exact";

    std::vector<double> expected(kRows);
    for (int i = 0; i < kRows; ++i)
        for (int k = 0; k < kColumns; ++k) expected[i] += double(back[i * kColumns + k]) * x[k];
    int in_size = kColumns, out_size = kRows, none = 0;
    int64_t zero = 0;
    // Instantiated as batched, with one batch.
    int shape[2] = {1, 1};
    program.run(
        "qmv_float_4", {32, 3 * 2, 1}, {32, 2, 1},
        {bytes_of(packed), bytes_of(scales), bytes_of(biases), bytes_of(x), bytes_of(y),
         bytes_of(in_size), bytes_of(out_size), bytes_of(none), bytes_of(shape), bytes_of(zero),
         bytes_of(none), bytes_of(shape), bytes_of(zero), bytes_of(zero), bytes_of(zero)});
    EXPECT_LT(error_of(y, expected), 1e-10);
}

TEST(Mlx, AttentionOfOneQuery) {
    auto program = mlx("sdpa_vector", /*checked=*/true);
    ASSERT_TRUE(program);
    constexpr int kHeads = 2, kLength = 70, kDim = 64;
    auto q = noise(kHeads * kDim, 9), k = noise(kHeads * kLength * kDim, 10),
         v = noise(kHeads * kLength * kDim, 11);
    std::vector<float> out(kHeads * kDim);
    int factor = 1, n = kLength;
    size_t head_stride = kLength * kDim, seq_stride = kDim;
    float scale = 0.125f;
    program.load({flag(20, false), flag(21, false), flag(22, false), flag(23, false),
                  flag(24, false), flag(25, false), constant(26, 29, 0)});
    program.run("sdpa_vector_float_64", {kHeads * 1024, 1, 1}, {1024, 1, 1},
                {bytes_of(q), bytes_of(k), bytes_of(v), bytes_of(out), bytes_of(factor),
                 bytes_of(n), bytes_of(head_stride), bytes_of(seq_stride), bytes_of(head_stride),
                 bytes_of(seq_stride), bytes_of(scale)});
    std::vector<double> expected(out.size());
    for (int h = 0; h < kHeads; ++h) {
        std::vector<double> weight(kLength);
        double sum = 0;
        for (int i = 0; i < kLength; ++i) {
            double score = 0;
            for (int d = 0; d < kDim; ++d)
                score += double(q[h * kDim + d]) * k[(h * kLength + i) * kDim + d];
            sum += weight[i] = std::exp(score * scale);
        }
        for (int i = 0; i < kLength; ++i)
            for (int d = 0; d < kDim; ++d)
                expected[h * kDim + d] += weight[i] / sum * v[(h * kLength + i) * kDim + d];
    }
    EXPECT_LT(error_of(out, expected), kFloatError);
}

TEST(Mlx, BlockedAttentionCompiles) { EXPECT_TRUE(mlx("attention")); }

TEST(Mlx, FourierTransformsConvolutionsAndGathersCompile) { EXPECT_TRUE(mlx("others")); }

}  // namespace
}  // namespace softmetal::msl::test
