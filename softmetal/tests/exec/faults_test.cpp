// Faults of the processor in kernels that nobody checks.
#include <sys/mman.h>

#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
  protected:
    std::shared_ptr<const Module> module = load_module("faults");
    std::vector<uint32_t> out = std::vector<uint32_t>(128);
};

TEST_F(Faults, ThroughAnUnboundArgumentNameIt) {
    EXPECT_THAT(error_of(launch_of(module, "write_unbound", 64, 64, {out.data()})),
                AllOf(HasSubstr("kernel 'write_unbound'"), HasSubstr("writes at address 0x0"),
                      HasSubstr("nothing is bound to argument 'other' at index 1"),
                      HasSubstr("thread (37, 0, 0)"), HasSubstr("threadgroup (0, 0, 0)")));
}

TEST_F(Faults, PastABufferNameIt) {
    const auto bytes = size_t{1} << 16;
    auto* buffer = static_cast<char*>(
        mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(buffer + bytes, bytes, PROT_NONE);
    const MemoryRange ranges[] = {{.begin = buffer, .bytes = bytes, .label = "weights"}};
    uint64_t offset = bytes + 8;
    auto launch = launch_of(module, "read_far", 1, 1, {buffer, &offset});
    launch.memory = ranges;
    EXPECT_THAT(error_of(launch),
                HasSubstr("reads at offset 65544 of buffer 'weights' (argument 'out' at index 0), "
                          "which has 65536"));
    offset = bytes - 1;
    EXPECT_EQ(error_of(launch), "");
    munmap(buffer, 2 * bytes);
}

TEST_F(Faults, OfTheStackAreCalledSo) {
    uint32_t depth = 150;
    EXPECT_EQ(error_of(launch_of(module, "dig_deep", 64, 64, {out.data(), &depth})), "");
    EXPECT_EQ(out[63], 151u);
    depth = 1'000'000;
    EXPECT_THAT(error_of(launch_of(module, "dig_deep", 64, 64, {out.data(), &depth})),
                HasSubstr("needs more than 256 KiB of stack; thread (0, 0, 0)"));
}

#if defined(__x86_64__)  // elsewhere a division by zero gives zero
TEST_F(Faults, DivisionByZero) {
    int32_t in[] = {7, 0};
    EXPECT_THAT(error_of(launch_of(module, "divide", 1, 1, {out.data(), in})),
                HasSubstr("divides an integer by zero"));
    in[1] = 2;
    EXPECT_EQ(error_of(launch_of(module, "divide", 1, 1, {out.data(), in})), "");
    EXPECT_EQ(out[0], 3u);
}
#endif

TEST_F(Faults, UnreachableCode) {
    uint32_t on = 1;
    EXPECT_THAT(error_of(launch_of(module, "trap", 1, 1, {out.data(), &on})),
                HasSubstr("reaches __builtin_trap or code that the compiler took for unreachable"));
    on = 0;
    EXPECT_EQ(error_of(launch_of(module, "trap", 1, 1, {out.data(), &on})), "");
}

TEST_F(Faults, LeaveTheExecutorUsable) {
    auto executor = Executor(3);
    const auto good = load_module("threads");
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(executor.run(launch_of(module, "fault_beside_waiting", 6400, 64)));
        auto numbers = std::vector<uint32_t>(6400);
        EXPECT_TRUE(executor.run(launch_of(good, "reverse", 6400, 64, {numbers.data()})));
        for (uint32_t j = 0; j < 6400; ++j) ASSERT_EQ(numbers[j], j ^ 63);
    }
}

// A fault outside kernels stays what it was.
TEST(FaultsDeathTest, OfTheProgramAreNotSwallowed) {
    EXPECT_EQ(error_of(launch_of(load_module("faults"), "fault_beside_waiting", 1, 1)), "");
    auto* closed = static_cast<volatile char*>(
        mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_DEATH(*closed = 1, "");
}

}  // namespace
}  // namespace softmetal::exec
