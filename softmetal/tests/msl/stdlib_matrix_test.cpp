// simdgroup_matrix: Apple's lane layout, loads and stores in all their forms, and products.
#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

const std::string kBegin =
    "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n";

TEST(StdlibMatrix, LanesHoldTheElementsThatApplesLanesHold) {
    Program program(kBegin + R"(
kernel void layout(device const float* in, device float2* pairs, device float* diagonal,
                   device half* filled, uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, in);
    pairs[lane] = m.thread_elements();
    simdgroup_store(simdgroup_float8x8(3.0f), diagonal);
    simdgroup_half8x8 h = make_filled_simdgroup_matrix<half, 8, 8>(half(2));
    h.thread_elements()[1] = half(lane);
    simdgroup_store(h, filled);
    simdgroup_bfloat8x8 b = make_filled_simdgroup_matrix<bfloat, 8>(bfloat(1.5f));
    vec<bfloat, 2> swapped = vec<bfloat, 2>(bfloat(lane), b.thread_elements()[0]);
    reinterpret_cast<thread vec<bfloat, 2>&>(b.thread_elements()) = swapped;
    simdgroup_store(b, (device bfloat*)(filled + 64));
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    float in[64], pairs[64], diagonal[64];
    uint16_t filled[128];
    for (int i = 0; i < 64; ++i) in[i] = static_cast<float>(i);
    program.run("layout", 32, 32, {in, pairs, diagonal, filled});
    for (int lane = 0; lane < 32; ++lane) {
        const int row = 4 * (lane >> 4 & 1) + (lane >> 1 & 3),
                  column = 4 * (lane >> 3 & 1) + 2 * (lane & 1);
        EXPECT_EQ(pairs[2 * lane], 8 * row + column) << lane;
        EXPECT_EQ(pairs[2 * lane + 1], 8 * row + column + 1) << lane;
        EXPECT_EQ(Half::value(filled[8 * row + column]), 2);
        EXPECT_EQ(Half::value(filled[8 * row + column + 1]), lane);
        EXPECT_EQ(Bfloat::value(filled[64 + 8 * row + column]), lane);
        EXPECT_EQ(Bfloat::value(filled[64 + 8 * row + column + 1]), 1.5);
    }
    for (int i = 0; i < 64; ++i) EXPECT_EQ(diagonal[i], i % 9 == 0 ? 3 : 0) << i;
}

TEST(StdlibMatrix, LoadsAndStoresKnowPitchOriginAndTransposition) {
    Program program(kBegin + R"(
kernel void move(device const half* in, device half* out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup half shared[20 * 24];
    for (uint k = i; k < 20 * 24; k += 32) shared[k] = in[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 plain, turned, placed, both, inner;
    simdgroup_load(plain, in, 24);
    simdgroup_load(turned, in, 24, 0, true);
    simdgroup_load(placed, shared, 24, ulong2(5, 3));
    simdgroup_load(both, in, 24, ulong2(5, 3), true);
    simdgroup_load(inner, shared + 24 * 2 + 1, ulong(24));
    simdgroup_store(plain, out, 24);
    simdgroup_store(turned, out, 24, ulong2(8, 0));
    simdgroup_store(placed, out, 24, ulong2(16, 0));
    simdgroup_store(both, out, 24, ulong2(0, 8), true);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_store(inner, shared, 24, ulong2(1, 1), true);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = i; k < 64; k += 32) out[24 * (8 + k / 8) + 8 + k % 8] = shared[24 * (1 + k / 8) + 1 + k % 8];
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    std::vector<uint16_t> in(20 * 24), out(20 * 24);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(1000 + i);
    program.run("move", 32, 32, {in.data(), out.data()});
    const auto at = [&](int row, int column) { return in[24 * row + column]; };
    for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) {
            EXPECT_EQ(out[24 * r + c], at(r, c));
            EXPECT_EQ(out[24 * r + 8 + c], at(c, r));
            EXPECT_EQ(out[24 * r + 16 + c], at(3 + r, 5 + c));
            EXPECT_EQ(out[24 * (8 + r) + c], at(3 + r, 5 + c));  // turned twice
            EXPECT_EQ(out[24 * (8 + r) + 8 + c], at(2 + c, 1 + r));
        }
    }
}

struct Format {
    const char* name;
    int bytes;
    float (*rounded)(float);
};
float as_half(float x) { return static_cast<float>(static_cast<_Float16>(x)); }
float as_bfloat(float x) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    return as_float((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}
const Format kFormats[] = {
    {"float", 4, [](float x) { return x; }}, {"half", 2, as_half}, {"bfloat", 2, as_bfloat}};

// The stated order: products summed from left to right with one rounding each, then c, then the
// rounding to the result's format.
TEST(StdlibMatrix, ProductsOfEveryMixtureHaveTheStatedRoundings) {
    std::string body;
    for (const auto& d : kFormats)
        for (const auto& a : kFormats)
            for (const auto& b : kFormats)
                body += std::string("K(") + d.name + ", " + a.name + ", " + b.name + ")\n";
    Program program(kBegin + R"(
template <typename T> simdgroup_matrix<T, 8, 8> get(device const float* in, uint lane) {
    simdgroup_matrix<float, 8, 8> m;
    simdgroup_load(m, in);
    simdgroup_matrix<T, 8, 8> out;
    out.thread_elements() = vec<T, 2>(m.thread_elements());
    return out;
}
#define K(D, A, B)                                                                               \
    kernel void mul_##D##_##A##_##B(device const float* in, device float* out,                   \
                                    uint lane [[thread_index_in_simdgroup]]) {                   \
        auto a = get<A>(in, lane);                                                               \
        auto b = get<B>(in + 64, lane);                                                          \
        auto c = get<D>(in + 128, lane);                                                         \
        simdgroup_matrix<D, 8, 8> d, e;                                                          \
        simdgroup_multiply(d, a, b);                                                             \
        simdgroup_multiply_accumulate(e, a, b, c);                                               \
        simdgroup_multiply_accumulate(c, a, b, c);                                               \
        simdgroup_float8x8 wide;                                                                 \
        wide.thread_elements() = float2(d.thread_elements());                                    \
        simdgroup_store(wide, out);                                                              \
        wide.thread_elements() = float2(e.thread_elements());                                    \
        simdgroup_store(wide, out + 64);                                                         \
        wide.thread_elements() = float2(c.thread_elements());                                    \
        simdgroup_store(wide, out + 128);                                                        \
    }
)" + body,
                    unchecked());
    ASSERT_TRUE(program);
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (const auto& d : kFormats) {
        for (const auto& a : kFormats) {
            for (const auto& b : kFormats) {
                float in[192], out[192];
                for (float& x : in) x = normal(random);
                const std::string kernel =
                    std::string("mul_") + d.name + "_" + a.name + "_" + b.name;
                program.run(kernel, 32, 32, {in, out});
                for (int r = 0; r < 8; ++r) {
                    for (int c = 0; c < 8; ++c) {
                        float sum = a.rounded(in[8 * r]) * b.rounded(in[64 + c]);
                        for (int k = 1; k < 8; ++k)
                            sum = std::fma(a.rounded(in[8 * r + k]), b.rounded(in[64 + 8 * k + c]),
                                           sum);
                        const int at = 8 * r + c;
                        ASSERT_EQ(out[at], d.rounded(sum)) << kernel;
                        const float total = d.rounded(sum + d.rounded(in[128 + at]));
                        ASSERT_EQ(out[64 + at], total) << kernel;
                        ASSERT_EQ(out[128 + at], total) << kernel << " in place";
                    }
                }
            }
        }
    }
}

// A tiled product the way programs write it, several SIMD groups at work.
TEST(StdlibMatrix, ATiledProductOfSeveralSimdGroupsIsRight) {
    Program program(kBegin + R"(
kernel void gemm(device const half* a, device const half* b, device float* c, constant uint& n,
                 uint3 group [[threadgroup_position_in_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]]) {
    simdgroup_float8x8 sum[2] = {make_filled_simdgroup_matrix<float, 8>(0.f),
                                 make_filled_simdgroup_matrix<float, 8>(0.f)};
    uint row = (group.x * 8) % n, column = (group.x * 8) / n * 64 + simd * 16;
    for (uint k = 0; k < n; k += 8) {
        simdgroup_half8x8 left, right;
        simdgroup_load(left, a + row * n + k, n);
        for (uint t = 0; t < 2; t++) {
            simdgroup_load(right, b + k * n + column + 8 * t, n);
            simdgroup_multiply_accumulate(sum[t], left, right, sum[t]);
        }
    }
    for (uint t = 0; t < 2; t++) simdgroup_store(sum[t], c, n, ulong2(column + 8 * t, row));
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    uint32_t n = 64;
    std::vector<uint16_t> a(n * n), b(n * n);
    std::vector<float> c(n * n);
    std::mt19937 random(8);
    for (auto* m : {&a, &b})
        for (auto& x : *m)
            x = std::bit_cast<uint16_t>(static_cast<_Float16>(static_cast<int>(random() % 17) - 8));
    program.run("gemm", 8 * 128, 128, {a.data(), b.data(), c.data(), &n});
    for (uint32_t r = 0; r < n; ++r) {
        for (uint32_t k = 0; k < n; ++k) {
            double want = 0;
            for (uint32_t i = 0; i < n; ++i)
                want += Half::value(a[r * n + i]) * Half::value(b[i * n + k]);
            ASSERT_EQ(c[r * n + k], want) << r << " " << k;
        }
    }
}

TEST(StdlibMatrix, OtherSizesAndElementsAreRefusedByName) {
    EXPECT_NE(refusal(kBegin + "kernel void k(device float* p) { simdgroup_matrix<float, 4, 4> m; "
                               "simdgroup_store(m, p); }")
                  .find("8 columns and 8 rows"),
              std::string::npos);
    EXPECT_NE(refusal(kBegin + "kernel void k(device int* p) { simdgroup_matrix<int, 8, 8> m; "
                               "simdgroup_store(m, p); }")
                  .find("half, bfloat or float"),
              std::string::npos);
}

}  // namespace
}  // namespace softmetal::msl::test
