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

// Products may be worked off later than they are written: whatever looks at a result in between, or
// takes its place, must see what the order of the program says.
TEST(StdlibMatrix, ResultsAreThereWheneverAProgramLooks) {
    Program program(kBegin + R"(
typedef simdgroup_float8x8 M;
M square(M m) { M d; simdgroup_multiply(d, m, m); return d; }
kernel void look(device const float* in, device float* out, uint lane [[thread_index_in_simdgroup]]) {
    M a, b, one(1.0f), sum[3];
    simdgroup_load(a, in);
    simdgroup_load(b, in + 64);
    for (int i = 0; i < 3; i++) sum[i] = make_filled_simdgroup_matrix<float, 8>(float(i));
    // More products than are kept, to several results in turn.
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < 3; i++) simdgroup_multiply_accumulate(sum[i], one, a, sum[i]);
    M copy = sum[1];                                     // of a result not yet looked at
    simdgroup_multiply_accumulate(sum[1], a, b, sum[1]); // which then changes
    simdgroup_multiply(sum[2], sum[2], b);               // an operand not yet looked at, in place
    M chained;
    simdgroup_multiply_accumulate(chained, b, one, sum[0]);
    { M dropped; simdgroup_multiply(dropped, a, b); }    // never looked at
    M replaced;
    simdgroup_multiply(replaced, a, b);
    simdgroup_load(replaced, in + 64);                   // overwritten instead
    M assigned;
    simdgroup_multiply(assigned, a, b);
    assigned = square(b);
    a.thread_elements() = float2(0);                     // operands change after their products
    b = a;
    simdgroup_store(sum[0], out);
    simdgroup_store(copy, out + 64);
    simdgroup_store(sum[1], out + 128);
    simdgroup_store(sum[2], out + 192);
    simdgroup_store(chained, out + 256);
    simdgroup_store(replaced, out + 320);
    simdgroup_store(assigned, out + 384);
    simdgroup_store(one * one, out + 448);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    float in[128], out[512];
    std::mt19937 random(6);
    for (float& x : in) x = static_cast<float>(static_cast<int>(random() % 9) - 4);
    program.run("look", 32, 32, {in, out});
    const float *a = in, *b = in + 64;
    const auto product = [](const float* p, const float* q, int r, int c) {
        float sum = 0;
        for (int k = 0; k < 8; ++k) sum += p[8 * r + k] * q[8 * k + c];
        return sum;
    };
    float third[64];
    for (int i = 0; i < 64; ++i) third[i] = 2 + 100 * a[i];
    for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) {
            const int i = 8 * r + c;
            EXPECT_EQ(out[i], 100 * a[i]);
            EXPECT_EQ(out[64 + i], 1 + 100 * a[i]);
            EXPECT_EQ(out[128 + i], 1 + 100 * a[i] + product(a, b, r, c));
            EXPECT_EQ(out[192 + i], product(third, b, r, c));
            EXPECT_EQ(out[256 + i], 100 * a[i] + b[i]);
            EXPECT_EQ(out[320 + i], b[i]);
            EXPECT_EQ(out[384 + i], product(b, b, r, c));
            EXPECT_EQ(out[448 + i], r == c ? 1 : 0);
        }
    }
}

// Half results are rounded at each product, however many are worked off together.
TEST(StdlibMatrix, AChainOfHalfProductsRoundsAtEveryStep) {
    Program program(kBegin + R"(
kernel void chain(device const half* in, device half* out) {
    simdgroup_half8x8 a, b, sum;
    simdgroup_load(a, in);
    simdgroup_load(b, in + 64);
    simdgroup_load(sum, in + 128);
    for (int k = 0; k < 70; k++) simdgroup_multiply_accumulate(sum, a, b, sum);
    simdgroup_store(sum, out);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    uint16_t in[192], out[64];
    std::mt19937 random(12);
    std::normal_distribution<float> normal;
    for (auto& x : in) x = std::bit_cast<uint16_t>(static_cast<_Float16>(normal(random)));
    program.run("chain", 32, 32, {in, out});
    for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) {
            float product = 0;
            for (int k = 0; k < 8; ++k) {
                const auto x = static_cast<float>(Half::value(in[8 * r + k]));
                const auto y = static_cast<float>(Half::value(in[64 + 8 * k + c]));
                product = k == 0 ? x * y : std::fma(x, y, product);
            }
            auto sum = static_cast<float>(Half::value(in[128 + 8 * r + c]));
            for (int k = 0; k < 70; ++k) sum = as_half(sum + product);
            ASSERT_EQ(Half::value(out[8 * r + c]), sum) << r << " " << c;
        }
    }
}

// Several threadgroups one after the other, some of which leave without looking; and a SIMD group
// that lacks lanes, whose elements count as zeros.
TEST(StdlibMatrix, MissingLanesCountAsZerosAndNothingStaysBehind) {
    Program program(kBegin + R"(
kernel void ragged(device const float* in, device float2* out, uint group [[threadgroup_position_in_grid]],
                   uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 a, d;
    simdgroup_load(a, in);
    simdgroup_multiply(d, a, a);
    if (group % 2 == 0) return;
    simdgroup_multiply_accumulate(d, a, a, d);
    out[32 * group + lane] = d.thread_elements();
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    float in[64];
    for (int i = 0; i < 64; ++i) in[i] = static_cast<float>(i % 7 - 3);
    std::vector<float> out(64 * 4);
    program.run("ragged", 20 * 4, 20, {in, out.data()});
    // Lanes 0 to 19 hold rows 0 to 3 and the left half of rows 4 and 5.
    float present[64] = {};
    for (int lane = 0; lane < 20; ++lane) {
        const int row = 4 * (lane >> 4 & 1) + (lane >> 1 & 3),
                  column = 4 * (lane >> 3 & 1) + 2 * (lane & 1);
        for (int k = 0; k < 2; ++k) present[8 * row + column + k] = in[8 * row + column + k];
    }
    for (const int group : {1, 3}) {
        for (int lane = 0; lane < 20; ++lane) {
            const int row = 4 * (lane >> 4 & 1) + (lane >> 1 & 3),
                      column = 4 * (lane >> 3 & 1) + 2 * (lane & 1);
            for (int e = 0; e < 2; ++e) {
                float want = 0;
                for (int k = 0; k < 8; ++k)
                    want += present[8 * row + k] * present[8 * k + column + e];
                EXPECT_EQ(out[64 * group + 2 * lane + e], 2 * want) << group << " " << lane;
            }
        }
    }
}

TEST(StdlibMatrix, ProductsThatOnlySomeLanesReachAreReported) {
    Program program(kBegin + R"(
kernel void apart(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 a(2.0f), d(0.0f);
    if (lane < 16) {
        simdgroup_multiply_accumulate(d, a, a, d);
    } else {
        simdgroup_multiply(d, a, a);
    }
    simdgroup_store(d, out);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    float out[64];
    exec::Executor executor(1);
    exec::Launch launch;
    launch.module = program.shared();
    launch.kernel = launch.module->find("apart");
    launch.threads = launch.threads_per_threadgroup = {32, 1, 1};
    launch.buffers[0] = out;
    const auto done = executor.run(launch);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().find("program_source:8:9"), std::string::npos) << done.error();
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
