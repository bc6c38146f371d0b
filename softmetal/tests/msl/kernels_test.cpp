// Kernels from source text to results: what the translator makes of MSL's own constructs.
#include "softmetal/tests/msl/kernel_runner.h"

namespace softmetal::msl::test {
namespace {

TEST(Kernels, AddTwoBuffers) {
    Program program(R"(
#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a [[buffer(0)]], const device float* b [[buffer(1)]],
                device float* out [[buffer(2)]], constant uint& n [[buffer(3)]],
                uint id [[thread_position_in_grid]]) {
    if (id < n) out[id] = a[id] + 0.5 * b[id];
})");
    ASSERT_TRUE(program);
    std::vector<float> a(100), b(100), out(100, -1.f);
    for (int i = 0; i < 100; ++i) a[i] = float(i), b[i] = float(2 * i);
    uint32_t n = 99;
    program.run("add", {100}, {32}, {bytes_of(a), bytes_of(b), bytes_of(out), bytes_of(n)});
    for (int i = 0; i < 99; ++i) EXPECT_EQ(out[i], float(2 * i));
    EXPECT_EQ(out[99], -1.f);
}

TEST(Kernels, MayHaveTheNamesOfLibraryFunctions) {
    Program program(R"(
#include <metal_stdlib>
using namespace metal;
kernel void exp(device int* o [[buffer(0)]]) { o[0] = 1; }
kernel void min(device int* o [[buffer(0)]]) { exp(o); o[0] += min(1, 2); }
kernel void malloc(device int* o [[buffer(0)]]) { o[0] = 3; }
kernel void memcpy(device int* o [[buffer(0)]]) { o[0] = 4; }
kernel void abort(device int* o [[buffer(0)]]) { o[0] = 5; }
template <typename T> [[kernel]] void clamp(device T* o [[buffer(0)]]) { o[0] = 6; }
template [[host_name("clamp_int")]] [[kernel]] void clamp<int>(device int*);
namespace mine { kernel void max(device int* o [[buffer(0)]]) { o[0] = 7; } }
)");
    ASSERT_TRUE(program);
    int expected = 0;
    for (const char* name : {"exp", "min", "malloc", "memcpy", "abort", "clamp_int", "mine::max"}) {
        std::vector<int> out(1);
        program.run(name, {1}, {1}, {bytes_of(out)});
        EXPECT_EQ(out[0], ++expected) << name;
    }
}

TEST(Kernels, TellTheTypesOfAnInstance) {
    Program program(R"(
#include <metal_stdlib>
using namespace metal;
template <typename T, int N = 2> [[kernel]] void f(
    device T* o [[buffer(0)]], constant array<vec<T, N>, 2>& v [[buffer(1)]]) {}
template [[host_name("g")]] [[kernel]] void f<half, 4>(
    device half*, constant array<vec<half, 4>, 2>&);
template [[host_name("h")]] [[kernel]] void f<float>(
    device float*, constant array<vec<float, 2>, 2>&);
)");
    ASSERT_TRUE(program);
    const auto* g = program.module().find("g");
    ASSERT_NE(g, nullptr);
    EXPECT_STREQ(g->arguments[0].type, "device half*");
    EXPECT_STREQ(g->arguments[1].type, "constant array<vec<half, 4>, 2>&");
    const auto* h = program.module().find("h");
    ASSERT_NE(h, nullptr);
    EXPECT_STREQ(h->arguments[0].type, "device float*");
}

TEST(Kernels, MayBeWrittenInDigraphs) {
    Program program(R"(
#include <metal_stdlib>
using namespace metal;
namespace mine { typedef uint word; }
kernel void k(device int* o <:<:buffer(0):>:>) <%
    const vec<::mine::word, 2> v(1, 2);
    o<:0:> = int(v<:1:>) + (sizeof("<%") == 3);
%>
)");
    ASSERT_TRUE(program);
    std::vector<int> out(1);
    program.run("k", {1}, {1}, {bytes_of(out)});
    EXPECT_EQ(out[0], 3);
}

TEST(Kernels, ComeWithTheirArguments) {
    Program program(R"(
struct Args { uint n; float scale[3]; };
constant bool has_bias [[function_constant(3)]];
kernel void f(device const float* a [[buffer(2)]], constant Args& args, device void* out [[buffer(0)]],
              threadgroup half* scratch [[threadgroup(1)]],
              const device int* bias [[buffer(5), function_constant(has_bias)]],
              ushort3 id [[thread_position_in_threadgroup]]) {}
)");
    ASSERT_TRUE(program);
    const auto* kernel = program.module().find("f");
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->line, 4u);
    EXPECT_STREQ(kernel->file, "program_source");
    ASSERT_EQ(kernel->n_arguments, 5u);
    const auto* arguments = kernel->arguments;
    EXPECT_STREQ(arguments[0].name, "a");
    EXPECT_STREQ(arguments[0].type, "device const float*");
    EXPECT_EQ(arguments[0].index, 2);
    EXPECT_EQ(arguments[0].kind, SM_ARGUMENT_BUFFER);
    EXPECT_TRUE(arguments[0].is_read_only);
    EXPECT_FALSE(arguments[0].is_constant);
    EXPECT_EQ(arguments[0].bytes, 4u);
    EXPECT_EQ(arguments[1].index, 1) << "the lowest index that is free";
    EXPECT_TRUE(arguments[1].is_constant);
    EXPECT_TRUE(arguments[1].is_reference);
    EXPECT_EQ(arguments[1].bytes, 16u);
    EXPECT_EQ(arguments[2].bytes, 1u) << "void";
    EXPECT_FALSE(arguments[2].is_read_only);
    EXPECT_EQ(arguments[3].kind, SM_ARGUMENT_THREADGROUP);
    EXPECT_EQ(arguments[3].index, 1);
    EXPECT_EQ(arguments[3].bytes, 2u);
    EXPECT_STREQ(arguments[4].function_constant, "has_bias");
    ASSERT_EQ(program.table().n_function_constants, 1u);
    EXPECT_STREQ(program.table().function_constants[0].name, "has_bias");
    EXPECT_EQ(program.table().function_constants[0].index, 3u);
    EXPECT_EQ(program.table().function_constants[0].type, 53u);
}

TEST(Kernels, ShareThreadgroupVariables) {
    Program program(R"(
#include <metal_stdlib>
using namespace metal;
template <typename T, int N>
[[kernel, max_total_threads_per_threadgroup(N)]] void reverse(device T* x [[buffer(0)]],
        uint i [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup T all[N], first;
    all[i] = x[g * N + i];
    if (i == 0) first = all[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[g * N + i] = all[N - 1 - i] + first;
}
#define instance(name, T, n) template [[host_name(name #T)]] [[kernel]] decltype(reverse<T, n>) reverse<T, n>;
instance("reverse_", int, 64)
instance("reverse_", float, 32)
)");
    ASSERT_TRUE(program);
    std::vector<int> x(128);
    for (int i = 0; i < 128; ++i) x[i] = i;
    program.run("reverse_int", {128}, {64}, {bytes_of(x)});
    for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(x[i], 63 - i);
        EXPECT_EQ(x[64 + i], 127 - i + 64);
    }
    const auto limits = program.module().limits(*program.module().find("reverse_int"));
    EXPECT_EQ(limits.max_total_threads, 64u);
    EXPECT_GE(limits.static_threadgroup_bytes, 65 * sizeof(int));
    EXPECT_EQ(program.module().limits(*program.module().find("reverse_float")).max_total_threads,
              32u);
}

TEST(Kernels, TakeNoMemoryForVariablesOfDeadBranches) {
    Program program(R"(
template <bool big> kernel void f(device int* x [[buffer(0)]]) {
    if (big) {
        threadgroup int many[1000];
        many[x[0]] = 1;
        x[0] = many[x[1]];
    } else {
        threadgroup int few[10];
        few[x[0]] = 1;
        x[0] = few[x[1]];
    }
}
template [[host_name("small")]] kernel void f<false>(device int*);
template [[host_name("large")]] kernel void f<true>(device int*);
)");
    ASSERT_TRUE(program);
    EXPECT_EQ(program.module().limits(*program.module().find("small")).static_threadgroup_bytes,
              40u);
    EXPECT_EQ(program.module().limits(*program.module().find("large")).static_threadgroup_bytes,
              4000u);
}

TEST(Kernels, ExpandMacrosInPragmas) {
    Program program(R"msl(
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define TIMES 4
template <int N> kernel void f(device int* x [[buffer(0)]]) {
    #pragma unroll (MIN(N/2, 4*TIMES))
    for (int i = 0; i < N; ++i) x[i] += 1;
    #pragma unroll TIMES
    for (int i = 0; i < N; ++i) x[i] += 1;
    _Pragma("clang loop unroll(full)") for (int i = 0; i < N; ++i) x[i] += 1;
}
typedef void(f_t)(device int*);
template [[host_name("f8")]] kernel f_t f<8>;
)msl");
    ASSERT_TRUE(program);
    std::vector<int> x(8);
    program.run("f8", {1}, {1}, {bytes_of(x)});
    for (const int value : x) EXPECT_EQ(value, 3);
}

TEST(Kernels, FollowFunctionConstants) {
    Program program(R"(
constant int scale [[function_constant(0)]];
constant bool negate [[function_constant(1)]];
constant int factor = is_function_constant_defined(scale) ? scale * 10 : -7;
kernel void f(device int* out [[buffer(0)]]) { out[0] = negate ? -factor : factor; }
)");
    ASSERT_TRUE(program);
    int out = 0;
    program.run("f", {1}, {1}, {bytes_of(out)});
    EXPECT_EQ(out, -7);
    program.load({constant(0, 29, 3), flag(1, true)});
    program.run("f", {1}, {1}, {bytes_of(out)});
    EXPECT_EQ(out, -30);
}

// Every built-in, in every width that it may have, in a grid of 10 x 3 threads in groups of 4 x 2.
TEST(Kernels, TellThreadsWhereTheyAre) {
    Program program(R"(
#include <metal_stdlib>
using namespace metal;
kernel void where(device uint* out [[buffer(0)]],
    uint3 a [[thread_position_in_grid]], ushort2 b [[thread_position_in_threadgroup]],
    int2 c [[threadgroup_position_in_grid]], short3 d [[threads_per_threadgroup]],
    uint2 e [[threads_per_grid]], uint f [[threadgroups_per_grid]], uint2 g [[dispatch_threads_per_threadgroup]],
    ushort h [[thread_index_in_threadgroup]], uint i [[thread_index_in_simdgroup]],
    short j [[simdgroup_index_in_threadgroup]], int k [[simdgroups_per_threadgroup]],
    uint l [[dispatch_simdgroups_per_threadgroup]], uint m [[threads_per_simdgroup]],
    uint n [[thread_execution_width]], uint o [[thread_index_in_quadgroup]],
    uint p [[quadgroup_index_in_threadgroup]], uint q [[quadgroups_per_threadgroup]],
    uint r [[dispatch_quadgroups_per_threadgroup]], uint2 s [[grid_size]], uint2 t [[grid_origin]]) {
    device uint* at = out + 32 * (a.y * 10 + a.x);
    const uint all[] = {a.x, a.y, a.z, b.x, b.y, uint(c.x), uint(c.y), uint(d.x), uint(d.y), uint(d.z), e.x, e.y, f, g.x, g.y,
                        h, i, uint(j), uint(k), l, m, n, o, p, q, r, s.x, s.y, t.x, t.y};
    for (int x = 0; x < 30; ++x) at[x] = all[x];
}
)");
    ASSERT_TRUE(program);
    std::vector<uint32_t> out(32 * 30);
    program.run("where", {10, 3}, {4, 2}, {bytes_of(out)});
    for (uint32_t y = 0; y < 3; ++y) {
        for (uint32_t x = 0; x < 10; ++x) {
            const uint32_t width = x < 8 ? 4 : 2, height = y < 2 ? 2 : 1;  // ragged at both edges
            const uint32_t index = (y % 2) * width + x % 4, n = width * height;
            const std::vector<uint32_t> expected = {
                x,           y,          0,  x % 4, y % 2, x / 4, y / 2,     width,
                height,      1,          10, 3,     3,     4,     2,         index,
                index % 32,  index / 32, 1,  1,     32,    32,    index % 4, index / 4,
                (n + 3) / 4, 2,          10, 3,     0,     0};
            const auto* at = &out[32 * (y * 10 + x)];
            EXPECT_EQ(std::vector<uint32_t>(at, at + 30), expected) << "thread " << x << ", " << y;
        }
    }
}

// a * b rounds to 1, so that a * b - 1 tells one rounding from two.
TEST(Kernels, ContractOnlyWhenAsked) {
    const std::string source = R"(
kernel void as_told(device float* x [[buffer(0)]]) { x[3] = x[0] * x[1] + x[2]; }
#pragma METAL fp contract(off)
kernel void never(device float* x [[buffer(0)]]) { x[3] = x[0] * x[1] + x[2]; }
#pragma METAL fp contract(fast)
kernel void always(device float* x [[buffer(0)]]) { x[3] = x[0] * x[1] + x[2]; }
)";
    const float tiny = 0x1p-13f;
    for (const bool fast : {false, true}) {
        Program program(source, {.fast_math = fast, .checked = false, .cache = false});
        ASSERT_TRUE(program);
        const auto result_of = [&](const char* kernel) {
            std::vector<float> x = {1 + tiny, 1 - tiny, -1, 7};
            program.run(kernel, {1}, {1}, {bytes_of(x)});
            return x[3];
        };
        EXPECT_EQ(result_of("as_told"), fast ? -tiny * tiny : 0.f);
        EXPECT_EQ(result_of("never"), 0.f);
        EXPECT_EQ(result_of("always"), -tiny * tiny);
    }
}

TEST(Kernels, LeaveOutArgumentsWhoseConstantIsFalse) {
    Program program(R"(
struct Options { float scale; int more[4]; };
constant bool scaled [[function_constant(0)]];
constant bool plain = !scaled;
kernel void f(device float* x [[buffer(0)]], constant Options& options [[buffer(1), function_constant(scaled)]],
              device float* y [[buffer(1), function_constant(plain)]]) {
    if (scaled) x[0] *= options.scale;
    else x[0] = y[0];
}
)");
    ASSERT_TRUE(program);
    float x = 5, y = 7, options[5] = {3};
    program.load({flag(0, true)});
    program.run("f", {1}, {1}, {bytes_of(x), bytes_of(options)});
    EXPECT_EQ(x, 15);
    program.load({flag(0, false)});
    program.run("f", {1}, {1}, {bytes_of(x), bytes_of(y)});
    EXPECT_EQ(x, 7);
}

}  // namespace
}  // namespace softmetal::msl::test
