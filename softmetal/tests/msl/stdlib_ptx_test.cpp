// The stand-in library compiles for NVIDIA GPUs: one kernel per area that uses all of it becomes
// PTX for sm_90 that asks for nothing but the driver's vprintf.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "softmetal/msl/process.h"
#include "softmetal/msl/toolchain.h"

namespace softmetal::msl::test {
namespace {

const char* const kSource = R"(
#pragma clang force_cuda_host_device begin
#include "softmetal/msl/stdlib/metal.h"
using namespace metal;
#define KERNEL extern "C" __attribute__((global)) void

template <class T> SM_FN T math(T x, T y) {
    T c, w;
    T sum = exp(x) + exp2(x) + exp10(x) + log(x) + log2(x) + log10(x) + sin(x) + cos(x) + tan(x) +
            sinpi(x) + cospi(x) + tanpi(x) + asin(x) + acos(x) + atan(x) + sinh(x) + cosh(x) + tanh(x) +
            asinh(x) + acosh(x) + atanh(x) + atan2(x, y) + pow(x, y) + powr(x, y) + rsqrt(x) + sincos(x, c);
    return sum + c + fabs(x) + floor(x) + ceil(x) + trunc(x) + rint(x) + round(x) + sqrt(x) + copysign(x, y) +
           divide(x, y) + fma(x, y, y) + fdim(x, y) + fmod(x, y) + fract(x) + modf(x, w) + w + ldexp(x, 3) +
           nextafter(x, y) + min(x, y) + fmax(x, y) + median3(x, y, y) + clamp(x, T(0), T(1)) + saturate(x) +
           mix(x, y, T(1)) + sign(x) + smoothstep(x, y, y) + step(x, y) + select(x, y, isnan(x)) +
           select(x, y, isless(x, y)) + fast::exp(x) + precise::log(y);
}
KERNEL math_float(float* a) { a[0] = math(a[0], a[1]); }
KERNEL math_float4(float4* a) { a[0] = math(a[0], a[1]); }
KERNEL math_half(half* a) { a[0] = math(a[0], a[1]); }
KERNEL math_bfloat3(bfloat3* a) { a[0] = math(a[0], a[1]); }

template <class T> SM_FN T integers(T x, T y) {
    return clz(x) + ctz(x) + popcount(x) + reverse_bits(x) + abs(x) + addsat(x, y) + subsat(x, y) + hadd(x, y) +
           rhadd(x, y) + mulhi(x, y) + madhi(x, y, x) + madsat(x, y, x) + rotate(x, y) + max(x, y) +
           extract_bits(x, 1, 5) + insert_bits(x, y, 2, 3) + T(absdiff(x, y));
}
KERNEL integer_kernel(int4* a, ulong* b, char2* c) {
    a[0] = integers(a[0], a[1]);
    b[0] = integers(b[0], b[1]);
    c[0] = integers(c[0], c[1]);
}
KERNEL geometry(float3* a, half4* h, uint* u, float4x4* m, packed_float3* p) {
    a[0] = cross(a[1], a[2]) * dot(a[1], a[2]) + normalize(a[1]) * length(a[2]) + reflect(a[1], a[2]) +
           refract(a[1], a[2], 0.5f) + faceforward(a[1], a[2], a[3]) + distance(a[1], a[2]);
    h[0] = unpack_unorm4x8_to_half(u[0]) + half4(uint4(u[0]));
    u[0] = pack_float_to_snorm4x8(float4(a[0], 1)) + pack_half_to_unorm565(h[0].xyz);
    m[0] = m[1] * transpose(m[2]) * determinant(m[1]);
    p[0] = p[1] * 2 + a[0].zyx;
    h[1].xw = as_type<half2>(u[1]);
}
template <class T> SM_FN T together(T x) {
    return simd_sum(x) + simd_product(x) + simd_min(x) + simd_max(x) + simd_prefix_inclusive_sum(x) +
           simd_prefix_exclusive_product(x) + simd_shuffle(x, 3) + simd_shuffle_xor(x, 1) + simd_shuffle_up(x, 2) +
           simd_shuffle_down(x, 2) + simd_shuffle_rotate_up(x, 1) + simd_shuffle_and_fill_up(x, x, 1, 8) +
           simd_broadcast_first(x) + quad_sum(x) + quad_max(x) + quad_prefix_inclusive_sum(x) + quad_broadcast(x, 1);
}
KERNEL simd_kernel(float* f, half4* h, long* l, uchar* c, uint* u) {
    f[0] = together(f[1]);
    h[0] = together(h[1]);
    l[0] = together(l[1]);
    c[0] = simd_and(c[1]) | simd_or(c[2]) ^ simd_xor(c[3]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_barrier(mem_flags::mem_none);
    u[0] = uint(ulong(simd_ballot(f[0] > 1))) + simd_any(f[1] > 2) + quad_all(f[2] > 3) + simd_is_first() +
           simd_active_threads_mask().all();
}
template <class T> SM_FN void multiply(T* p) {
    simdgroup_matrix<T, 8, 8> a, b(T(1.0f)), c = make_filled_simdgroup_matrix<T, 8>(T(0.0f));
    simdgroup_load(a, p, 16, ulong2(1, 2), true);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_multiply(b, c, a);
    simdgroup_store(b, p, 16);
}
KERNEL matrix_kernel(float* f, half* h, bfloat* b) {
    multiply(f);
    multiply(h);
    multiply(b);
}
KERNEL atomic_kernel(atomic_uint* u, atomic_int* i, atomic_float* f, atomic<ulong>* l, uint* out) {
    float expected = 1;
    atomic_store_explicit(u, 3, memory_order_relaxed);
    atomic_max_explicit(l, 3ul, memory_order_relaxed);
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    out[0] = atomic_load_explicit(u, memory_order_relaxed) + atomic_fetch_add_explicit(u, 1, memory_order_relaxed) +
             atomic_fetch_min_explicit(i, -1, memory_order_relaxed) + atomic_fetch_xor_explicit(i, 1, memory_order_relaxed) +
             uint(atomic_fetch_add_explicit(f, 1, memory_order_relaxed) + atomic_fetch_max_explicit(f, 2, memory_order_relaxed)) +
             atomic_compare_exchange_weak_explicit(f, &expected, 2, memory_order_relaxed, memory_order_relaxed);
}
KERNEL log_kernel(float* a) { os_log_default.log("%d %f %s", 3, a[0], "text"); }
#pragma clang force_cuda_host_device end
)";

TEST(StdlibPtx, EveryAreaCompilesForAnNvidiaGpuAndNeedsNothingElse) {
    const auto temporary = TemporaryFolder::create();
    ASSERT_TRUE(temporary);
    const auto input = temporary->path() / "everything.cu",
               output = temporary->path() / "everything.ptx";
    ASSERT_TRUE(write_file(input, kSource));
    const auto tools = Toolchain::configured();
    auto process = Process::start(
        {tools.clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90",
         "--cuda-feature=+ptx80", "-nocudainc", "-nocudalib", "-nostdinc", "-std=gnu++20",
         "-fdeclspec", "-O3", "-ffp-contract=off", "-fno-strict-float-cast-overflow", "-S",
         "-I" + tools.root.string(), input.string(), "-o", output.string()});
    ASSERT_TRUE(process);
    const auto result = process->wait();
    ASSERT_EQ(result.status, 0) << result.error;
    const auto ptx = read_file(output);
    ASSERT_TRUE(ptx);

    EXPECT_NE(ptx->find(".target sm_90"), std::string::npos);
    std::set<std::string> entries, externals;
    const std::regex entry(R"(\.visible \.entry (\w+)\()"),
        external(R"(\.extern \.func\s+(?:\([^)]*\)\s*)?(\w+))");
    for (std::sregex_iterator at(ptx->begin(), ptx->end(), entry), end; at != end; ++at)
        entries.insert((*at)[1]);
    for (std::sregex_iterator at(ptx->begin(), ptx->end(), external), end; at != end; ++at)
        externals.insert((*at)[1]);
    EXPECT_EQ(entries.size(), 10u);
    EXPECT_EQ(externals, std::set<std::string>{"vprintf"});
    for (const char* const instruction :
         {"shfl.sync.idx", "vote.sync.ballot", "bar.sync", "bar.warp.sync", "membar.sys",
          "atom.add.f32", "atom.add.u32", "atom.max.u64", "atom.cas.b32", "fma.rn.f32",
          "sqrt.rn.f32", "div.rn.f32"})
        EXPECT_NE(ptx->find(instruction), std::string::npos) << instruction;
    // Nothing is approximate unless a program asks for it.
    for (const char* const instruction :
         {"ex2.approx", "lg2.approx", "sin.approx", "div.full", "sqrt.approx"})
        EXPECT_EQ(ptx->find(instruction), std::string::npos) << instruction;
}

}  // namespace
}  // namespace softmetal::msl::test
