// The same kernels for NVIDIA GPUs. Nothing runs here; what the text must show is that memory is
// addressed by its kind, and that nothing is left to be linked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softmetal/msl/compiler.h"

namespace softmetal::msl {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Ptx, AddressesEveryMemoryByItsKind) {
    const auto ptx = compile_to_ptx(R"(
#include <metal_stdlib>
using namespace metal;
constant bool twice [[function_constant(0)]];
constant int times = twice ? 2 : 1;
constant float table[4] = {1, 2, 4, 8};
struct Args { uint n; };
float helper(const device float* x, uint i) { return x[i] * table[i % 4]; }
namespace a {
template <typename T, int N>
[[kernel]] void f(device T* x [[buffer(0)]], constant Args& args [[buffer(1)]], threadgroup T* scratch [[threadgroup(0)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup T tile[N];
    tile[t] = helper(x, i);
    scratch[t] = tile[N - 1 - t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < args.n) x[i] = simd_sum(scratch[t ^ 1]) * times;
}
template [[host_name("f_float")]] [[kernel]] void f<float, 64>(device float*, constant Args&, threadgroup float*, uint, uint);
}
)",
                                    "program_source", "", {});
    ASSERT_TRUE(ptx) << ptx.error();
    EXPECT_THAT(*ptx, testing::StartsWith("// sm_kernel_0: f_float\n"));
    for (const char* part : {".target sm_90", ".visible .entry sm_kernel_0", "ld.global.f32",
                             "st.global.f32", "ld.shared.f32", "st.shared.f32", "ld.const",
                             ".visible .const .align 1 .u8 twice", "bar.sync"})
        EXPECT_THAT(*ptx, HasSubstr(part));
    for (const char* part : {"\tld.f32", "\tst.f32", "\tld.u32", ".extern .func", ".visible .func"})
        EXPECT_THAT(*ptx, Not(HasSubstr(part)));
}

TEST(Ptx, RefusesWithTheUsersLine) {
    const auto ptx = compile_to_ptx("kernel void f(device float* x) {\n    x[0] = missing;\n}\n",
                                    "program_source", "", {});
    ASSERT_FALSE(ptx);
    EXPECT_THAT(ptx.error(),
                HasSubstr("program_source:2:12: error: use of undeclared identifier 'missing'"));
}

}  // namespace
}  // namespace softmetal::msl
