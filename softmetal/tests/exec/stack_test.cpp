// Kernels with large variables of their own, in checked and unchecked modules: what fits in a
// thread's stack runs, what does not is an error of that kernel alone.
#include "softmetal/msl/compiler.h"
#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kSource = R"(#include <metal_stdlib>
using namespace metal;

kernel void harmless(device int* out [[buffer(0)]], device const int* in [[buffer(1)]]) {
    out[0] = in[0];
}

kernel void keep_much(device int* out [[buffer(0)]], device const int* in [[buffer(1)]]) {
    int kept[50000];
    for (int i = 0; i < 50000; i++) kept[i] = in[0] + i;
    out[0] = kept[in[1]];
}

kernel void keep_too_much(device int* out [[buffer(0)]], device const int* in [[buffer(1)]]) {
    threadgroup int scratch[4];
    int kept[100000000];
    for (int i = 0; i < 100000000; i++) kept[i] = in[0];
    scratch[0] = kept[in[1]];
    out[0] = scratch[0];
}

kernel void keep_in_a_loop(device int* out [[buffer(0)]], device const int* in [[buffer(1)]]) {
    for (int n = 0; n < 64; ++n) {
        int kept[10000];
        for (int i = 0; i < 10000; i++) kept[i] = in[0] + i;
        out[0] += kept[in[1] + n];
    }
}

static int dig_with(device const int* in, int depth) {
    int kept[4000];
    for (int i = 0; i < 4000; i++) kept[i] = depth + i;
    if (depth > 0) kept[in[1]] = dig_with(in, depth - 1);
    return kept[in[2]] + kept[in[1]];
}
kernel void dig(device int* out [[buffer(0)]], device const int* in [[buffer(1)]]) {
    out[0] = dig_with(in, in[0]);
}
)";

class Stack : public ::testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        const auto unit = msl::compile(kSource, "stack.metal", "", {.cache = false});
        ASSERT_TRUE(unit) << unit.error();
        auto loaded = Module::load(GetParam() ? unit->checked : unit->plain, {});
        ASSERT_TRUE(loaded) << loaded.error();
        module = *loaded;
    }
    std::string error_with(const char* kernel, std::vector<int32_t> in) {
        auto launch = launch_of(module, kernel, 1, 1, {&out, in.data()});
        const MemoryRange ranges[] = {{.begin = &out, .bytes = sizeof out},
                                      {.begin = in.data(), .bytes = in.size() * sizeof(int32_t)}};
        launch.memory = ranges;
        launch.checks = Checks::All;
        return error_of(launch);
    }

    std::shared_ptr<const Module> module;
    int32_t out = 0;
};

TEST_P(Stack, HoldsLargeVariables) {
    EXPECT_EQ(error_with("keep_much", {7, 49'999}), "");
    EXPECT_EQ(out, 50'006);
}

TEST_P(Stack, IsTakenOnceByALoop) {
    EXPECT_EQ(error_with("keep_in_a_loop", {1, 0}), "");
    EXPECT_EQ(out, 64 + 63 * 64 / 2);
}

TEST_P(Stack, TooSmallForAVariableIsAnError) {
    EXPECT_THAT(error_with("keep_too_much", {7, 3}),
                AllOf(HasSubstr("kernel 'keep_too_much'"),
                      HasSubstr("needs more than 256 KiB of stack: a variable of its own has "
                                "400000000 bytes; thread (0, 0, 0)")));
    EXPECT_EQ(error_with("harmless", {5}), "");
    EXPECT_EQ(out, 5);
}

TEST_P(Stack, TooSmallForCallsIsAnError) {
    EXPECT_EQ(error_with("dig", {3, 0, 1}), "");
    EXPECT_THAT(error_with("dig", {1000, 0, 1}), HasSubstr("needs more than 256 KiB of stack"));
}

TEST_P(Stack, IsNotNeededToAskForLimits) {
    EXPECT_EQ(module->limits(*module->find("keep_too_much")).static_threadgroup_bytes, 16u);
    EXPECT_EQ(module->limits(*module->find("harmless")).static_threadgroup_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(OfBothBuilds, Stack, ::testing::Bool(), [](const auto& build) {
    return build.param ? std::string("Checked") : std::string("Plain");
});

}  // namespace
}  // namespace softmetal::exec
