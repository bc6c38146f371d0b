// The checks as a program meets them: kernels in MSL, compiled by mslc, reported at their own
// lines.
#include "softmetal/msl/compiler.h"
#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kSource = R"(#include <metal_stdlib>
using namespace metal;

constant float table[3] = {1, 2, 3};

static float twice(device const float* from, uint i) {
    return 2 * from[i];  // line 7
}

kernel void copy(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],
                 constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = twice(in, i);
}

kernel void look_up(device float* out [[buffer(0)]], constant uint& i [[buffer(2)]]) {
    out[0] = table[i];  // line 16
}

kernel void share(device float* out [[buffer(0)]], constant uint& n [[buffer(2)]],
                  uint i [[thread_index_in_threadgroup]]) {
    threadgroup float scratch[32];
    scratch[i * n] = i;  // line 22
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = scratch[31 - i];
}

kernel void vectors(device float4* out [[buffer(0)]], device const float4* in [[buffer(1)]],
                    constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    float4 sum = 0;
    for (uint k = 0; k < n; ++k) sum += in[i + k];  // line 30
    out[i] = sum;
}

kernel void reduce(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],
                   uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    float sum = simd_sum(in[i]);
    if (lane == 0) out[i / 32] = sum;
}

kernel void add_up(device atomic_uint* total [[buffer(0)]], device const uint* in [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(total + in[i], 1u, memory_order_relaxed);  // line 42
}

kernel void matrices(device float* out [[buffer(0)]], device const float* in [[buffer(1)]]) {
    simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(0.f);
    simdgroup_load(a, in, 8);  // line 47
    simdgroup_load(b, in, 8);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_store(c, out, 8);
}

kernel void diverge(device float* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    if (lane < 4) out[lane] = simd_sum(1.f);  // line 54
    else out[lane] = simd_max(1.f);           // line 55
}

kernel void read_null(device float* out [[buffer(0)]]) {
    device float* none = nullptr;
    out[0] = *none;  // line 60
}

kernel void follow(device const ulong* table [[buffer(0)]]) {
    *(device int*)table[0] = 3;  // line 64
}
)";

class MslChecks : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        const auto unit = msl::compile(kSource, "kernels.metal", "", {.cache = false});
        ASSERT_TRUE(unit) << unit.error();
        plain = *Module::load(unit->plain, {});
        auto loaded = Module::load(unit->checked, {});
        ASSERT_TRUE(loaded) << loaded.error();
        module = *loaded;
        ASSERT_EQ(module->table().is_checked, 1u);
    }
    static void TearDownTestSuite() {
        module.reset();
        plain.reset();
    }

    void SetUp() override { ASSERT_NE(module, nullptr); }

    std::string error_with(const char* kernel, uint32_t threads, size_t out_bytes,
                           size_t in_bytes) {
        auto launch = launch_of(module, kernel, threads, 32, {out, in, &n});
        const MemoryRange ranges[] = {{.begin = out, .bytes = out_bytes, .label = "out"},
                                      {.begin = in, .bytes = in_bytes, .label = "in"},
                                      {.begin = &n, .bytes = 4}};
        launch.memory = ranges;
        launch.checks = Checks::All;
        return error_of(launch);
    }

    static inline std::shared_ptr<const Module> module, plain;
    alignas(64) float out[256] = {};
    alignas(64) float gap[64] = {};
    alignas(64) float in[256] = {};
    uint32_t n = 0;
};

TEST_F(MslChecks, PassKernelsThatAreRight) {
    n = 64;
    std::fill(in, in + 256, 0.5f);
    EXPECT_EQ(error_with("copy", 64, 256, 256), "");
    EXPECT_EQ(out[63], 1.f);
    n = 2;
    EXPECT_EQ(error_with("look_up", 1, 4, 4), "");
    EXPECT_EQ(out[0], 3.f);
    n = 1;
    EXPECT_EQ(error_with("share", 32, 128, 4), "");
    EXPECT_EQ(out[0], 31.f);
    n = 4;
    EXPECT_EQ(error_with("vectors", 4, 64, 7 * 16), "");
    EXPECT_EQ(out[0], 2.f);
    EXPECT_EQ(error_with("reduce", 64, 8, 256), "");
    EXPECT_EQ(out[0], 16.f);
    EXPECT_EQ(error_with("matrices", 32, 256, 256), "");
    EXPECT_EQ(out[0], 2.f);
    std::fill(in, in + 256, 0.f);
    out[0] = 0;
    EXPECT_EQ(error_with("add_up", 64, 4, 256), "");
    EXPECT_EQ(reinterpret_cast<uint32_t&>(out[0]), 64u);
}

TEST_F(MslChecks, ReportTheLineOfAHelperThatReadsPastTheEnd) {
    n = 64;
    EXPECT_THAT(error_with("copy", 64, 256, 200),
                AllOf(StartsWith("kernels.metal:7:"), HasSubstr("kernel 'copy'"),
                      HasSubstr("reads 4 bytes at offset 200 of buffer 'in' (argument 'in' at "
                                "index 1), which has 200"),
                      HasSubstr("thread (18, 0, 0)"), HasSubstr("threadgroup (1, 0, 0)")));
}

TEST_F(MslChecks, ReportTables) {
    n = 3;
    EXPECT_THAT(error_with("look_up", 1, 4, 4),
                AllOf(StartsWith("kernels.metal:16:"), HasSubstr("reads 4 bytes at offset 12 of"),
                      HasSubstr("table"), HasSubstr("which has 12")));
}

TEST_F(MslChecks, ReportThreadgroupVariables) {
    n = 2;
    EXPECT_THAT(error_with("share", 32, 128, 4),
                AllOf(StartsWith("kernels.metal:22:"),
                      HasSubstr("writes 4 bytes at offset 128 of threadgroup memory 'scratch', "
                                "which has 128"),
                      HasSubstr("thread (16, 0, 0)")));
}

TEST_F(MslChecks, ReportVectors) {
    n = 4;
    EXPECT_THAT(error_with("vectors", 4, 64, 6 * 16),
                AllOf(StartsWith("kernels.metal:30:"), HasSubstr("at offset 96 of buffer 'in'")));
}

TEST_F(MslChecks, ReportAtomics) {
    reinterpret_cast<uint32_t&>(in[5]) = 1;
    EXPECT_THAT(error_with("add_up", 32, 4, 256),
                AllOf(StartsWith("kernels.metal:42:"),
                      HasSubstr("atomically changes 4 bytes at offset 4 of buffer 'out'"),
                      HasSubstr("thread (5, 0, 0)")));
}

TEST_F(MslChecks, ReportMatrixLoads) {
    EXPECT_THAT(error_with("matrices", 32, 256, 252),
                AllOf(StartsWith("kernels.metal:47:"), HasSubstr("of buffer 'in'")));
}

TEST_F(MslChecks, ReportNullPointersThatTheCompilerSees) {
    EXPECT_THAT(error_with("read_null", 1, 4, 4),
                AllOf(StartsWith("kernels.metal:60:"), HasSubstr("reads 4 bytes at address 0x0")));
    EXPECT_THAT(error_of(launch_of(plain, "read_null", 1, 1, {out})),
                HasSubstr("reads at address 0x0"));
}

TEST_F(MslChecks, AskWhoseMemoryThatIsNotResidentIs) {
    uint64_t table[] = {reinterpret_cast<uint64_t>(gap)};
    const MemoryRange ranges[] = {{.begin = table, .bytes = sizeof table}};
    auto launch = launch_of(module, "follow", 1, 1, {table});
    launch.memory = ranges;
    launch.checks = Checks::Bounds;
    launch.describe_address = [&](uintptr_t address) {
        return address == table[0] ? std::string("byte 0 of buffer 'gap'") : std::string();
    };
    EXPECT_THAT(error_of(launch),
                AllOf(StartsWith("kernels.metal:64:"),
                      HasSubstr("writes 4 bytes at byte 0 of buffer 'gap', which is not resident "
                                "for this dispatch: useResource, useHeap or a residency set makes "
                                "it so")));
    const MemoryRange resident[] = {ranges[0], {.begin = gap, .bytes = sizeof gap}};
    launch.memory = resident;
    EXPECT_EQ(error_of(launch), "");
}

TEST_F(MslChecks, ReportDivergence) {
    EXPECT_THAT(
        error_with("diverge", 32, 256, 4),
        AllOf(StartsWith("kernels.metal:54:"), HasSubstr("threads 0-3 at kernels.metal:54:"),
              HasSubstr("threads 4-31 at kernels.metal:55:")));
}

}  // namespace
}  // namespace softmetal::exec
