#include "backend/metal/device/command_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/device_rig.h"

namespace minfer::test {
namespace {

using metal::CommandBuffer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kCount = 100;

// A device with the test's own kernels and one buffer.
struct CommandBufferTest : ::testing::Test {
    TempFile source{"kernels.metal", kTestKernels};
    std::unique_ptr<metal::Device> device = *metal::Device::create(source.path());
    metal::Pipeline increment = *device->pipeline("increment", 32);
    metal::Pipeline through_shared = *device->pipeline("through_shared", 32);
    metal::Pipeline beyond = *device->pipeline("beyond", 32);
    metal::Buffer buffer = *device->new_buffer(kCount * 4);
    metal::Completion completion;

    static constexpr metal::Launch kLaunch = {.groups = {.x = 4}, .threads = {.x = 32}};

    Result<> add_one(CommandBuffer& commands) {
        return commands.dispatch(increment, kLaunch, {whole(buffer)}, CountArgs{kCount});
    }
    Result<> submit(CommandBuffer& commands, double bound = 60) {
        return commands.submit(bound, completion);
    }
    std::vector<uint32_t> values() const {
        const auto* const first = static_cast<const uint32_t*>(buffer->contents());
        return {first, first + kCount};
    }
};

TEST_F(CommandBufferTest, DispatchesRunInOrderWithABarrierAfterEach) {
    auto commands = *CommandBuffer::open(*device);
    ASSERT_TRUE(add_one(commands));
    ASSERT_TRUE(add_one(commands));
    ASSERT_TRUE(commands.dispatch(through_shared,
                                  {.groups = {4}, .threads = {32}, .shared_bytes = 128},
                                  {whole(buffer)}, CountArgs{kCount}));
    EXPECT_EQ(commands.dispatches(), 3u);
    EXPECT_EQ(commands.barriers(), 3u);
    const auto done = submit(commands);
    ASSERT_TRUE(done) << done.error().what;
    const auto got = values();
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], 2 + 31 - i % 32) << i;
}

TEST_F(CommandBufferTest, NothingRunsBeforeSubmitAndDroppedWorkNever) {
    {
        auto commands = *CommandBuffer::open(*device);
        ASSERT_TRUE(add_one(commands));
        EXPECT_EQ(values().front(), 0u);
    }
    EXPECT_EQ(values().front(), 0u);
    auto commands = *CommandBuffer::open(*device);
    ASSERT_TRUE(add_one(commands));
    ASSERT_TRUE(submit(commands));
    EXPECT_EQ(values(), std::vector<uint32_t>(kCount, 1));
}

TEST_F(CommandBufferTest, CopiesAndDispatchesAreOrdered) {
    const auto other = *device->new_buffer(kCount * 4);
    auto commands = *CommandBuffer::open(*device);
    ASSERT_TRUE(add_one(commands));
    ASSERT_TRUE(commands.copy(whole(buffer), whole(other)));  // ones
    ASSERT_TRUE(add_one(commands));                           // twos
    ASSERT_TRUE(commands.copy(whole(other).part(0, 40), whole(buffer).part(40, 40)));
    ASSERT_TRUE(add_one(commands));
    ASSERT_TRUE(submit(commands));
    const auto got = values();
    for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(got[i], i >= 10 && i < 20 ? 2u : 3u) << i;
}

TEST_F(CommandBufferTest, AnErrorCarriesStatusCauseAndTheLast16LabelsOldestFirst) {
    const struct {
        int64_t code;
        const char* text;
    } codes[] = {{MTL::CommandBufferErrorInternal, "(code 1)"},
                 {MTL::CommandBufferErrorTimeout, "(code 2)"},
                 {MTL::CommandBufferErrorPageFault, "(code 3)"},
                 {MTL::CommandBufferErrorAccessRevoked, "(code 4)"},
                 {MTL::CommandBufferErrorNotPermitted, "(code 7)"},
                 {MTL::CommandBufferErrorOutOfMemory, "(code 8)"},
                 {MTL::CommandBufferErrorInvalidResource, "(code 9)"},
                 {MTL::CommandBufferErrorMemoryless, "(code 10)"},
                 {MTL::CommandBufferErrorDeviceRemoved, "(code 11)"},
                 {MTL::CommandBufferErrorStackOverflow, "(code 12)"}};
    for (const auto& [code, text] : codes) {
        softmetal::fail_next_command_buffer(device->handle(), code);
        auto commands = *CommandBuffer::open(*device);
        ASSERT_TRUE(commands.dispatch(through_shared,
                                      {.groups = {4}, .threads = {32}, .shared_bytes = 128},
                                      {whole(buffer)}, CountArgs{kCount}));
        for (int i = 0; i < 16; ++i) ASSERT_TRUE(add_one(commands));
        const auto done = submit(commands);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::Device);
        EXPECT_FALSE(completion.is_pending());
        EXPECT_THAT(done.error().what,
                    AllOf(HasSubstr("of 17 dispatches ended with status Error"),
                          HasSubstr("failed on request"), HasSubstr(text),
                          HasSubstr("increment, increment"), Not(HasSubstr("through_shared"))));
        EXPECT_EQ(values().front(), 0u);
        // The device goes on.
        auto next = *CommandBuffer::open(*device);
        ASSERT_TRUE(submit(next));
    }
}

TEST_F(CommandBufferTest, AKernelThatWritesOutsideIsAnErrorThatNamesIt) {
    softmetal::set_checks(device->handle(), softmetal::Checks::All);
    auto commands = *CommandBuffer::open(*device);
    ASSERT_TRUE(commands.dispatch(beyond, {.groups = {1}, .threads = {32}}, {whole(buffer)},
                                  CountArgs{kCount}));
    const auto done = submit(commands);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().what, AllOf(HasSubstr("beyond"), HasSubstr("status Error")));
}

TEST_F(CommandBufferTest, AHangIsGivenUpAfterTheBoundAndTheWorkStaysKnown) {
    softmetal::hang_next_command_buffer(device->handle(), 1);
    {
        auto commands = *CommandBuffer::open(*device);
        ASSERT_TRUE(add_one(commands));
        const auto done = submit(commands, 0.05);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::Timeout);
        EXPECT_THAT(done.error().what,
                    AllOf(HasSubstr("did not end within"), HasSubstr("1 dispatches"),
                          HasSubstr("0.05 s"), HasSubstr("increment")));
    }
    EXPECT_TRUE(completion.is_pending());
    EXPECT_FALSE(completion.wait(0.01));
    EXPECT_TRUE(completion.wait(60));
    EXPECT_FALSE(completion.is_pending());
}

TEST_F(CommandBufferTest, AHangNobodyWaitsForEndsWithoutThoseWhoGaveItUp) {
    softmetal::hang_next_command_buffer(device->handle(), 0.5);
    {
        metal::Completion given_up;
        auto commands = *CommandBuffer::open(*device);
        ASSERT_TRUE(add_one(commands));
        ASSERT_FALSE(commands.submit(0.01, given_up));
    }
    auto next = *CommandBuffer::open(*device);
    ASSERT_TRUE(add_one(next));
    ASSERT_TRUE(submit(next));  // the queue is in order: the one given up has ended
    EXPECT_EQ(values().front(), 1u);
}

TEST_F(CommandBufferTest, ALaunchAboveTheLimitsIsRefusedBeforeItIsEncoded) {
    auto commands = *CommandBuffer::open(*device);
    const auto limit = device->limits().threadgroup_bytes;
    EXPECT_EQ(through_shared.shared_bytes, 128u);
    const auto shared = [&](size_t bytes) {
        return metal::Launch{
            .groups = {4}, .threads = {32}, .shared_bytes = static_cast<uint32_t>(bytes)};
    };
    const auto most = limit - through_shared.shared_bytes;
    const auto large =
        commands.dispatch(through_shared, shared(most + 16), {whole(buffer)}, CountArgs{kCount});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().fault, Fault::Unsupported);
    EXPECT_THAT(large.error().what,
                AllOf(HasSubstr("'through_shared'"), HasSubstr(fmt::format("{}", limit + 16)),
                      HasSubstr(fmt::format("has {}", limit))));
    const auto many = commands.dispatch(increment, {.groups = {1}, .threads = {.x = 513, .y = 2}},
                                        {whole(buffer)}, CountArgs{kCount});
    ASSERT_FALSE(many);
    EXPECT_THAT(many.error().what, AllOf(HasSubstr("'increment'"), HasSubstr("1026 threads"),
                                         HasSubstr("allowed are 1024")));
    EXPECT_EQ(commands.dispatches(), 0u);
    EXPECT_EQ(commands.labels().text(), "none");
    // At the limits it runs.
    EXPECT_TRUE(
        commands.dispatch(through_shared, shared(most), {whole(buffer)}, CountArgs{kCount}));
    EXPECT_TRUE(commands.dispatch(increment, {.groups = {1}, .threads = {.x = 512, .y = 2}},
                                  {whole(buffer)}, CountArgs{0}));
    EXPECT_TRUE(submit(commands));
}

TEST_F(CommandBufferTest, TheGuardsCompareWithTheDeviceAtHand) {
    const auto small =
        Profile({.max_threads_per_threadgroup = 64, .max_threadgroup_memory_bytes = 1024});
    const auto other = *metal::Device::create(source.path());
    const auto kernel = *other->pipeline("increment", 32);
    const auto shared = *other->pipeline("through_shared", 32);
    const auto memory = *other->new_buffer(kCount * 4);
    auto commands = *CommandBuffer::open(*other);
    const auto threads = [](uint32_t n) { return metal::Launch{.groups = {2}, .threads = {n}}; };
    const auto args = CountArgs{kCount};
    EXPECT_FALSE(commands.dispatch(kernel, threads(96), {whole(memory)}, args));
    EXPECT_TRUE(commands.dispatch(kernel, threads(64), {whole(memory)}, args));
    const auto bytes = [](uint32_t n) {
        return metal::Launch{.groups = {1}, .threads = {32}, .shared_bytes = n};
    };
    EXPECT_FALSE(commands.dispatch(shared, bytes(1024), {whole(memory)}, args));
    EXPECT_TRUE(commands.dispatch(shared, bytes(1024 - 128), {whole(memory)}, args));
    EXPECT_TRUE(submit(commands));
    // The same launches on a device with room.
    auto large = *CommandBuffer::open(*device);
    EXPECT_TRUE(large.dispatch(increment, threads(96), {whole(buffer)}, args));
    EXPECT_TRUE(large.dispatch(through_shared, bytes(1024), {whole(buffer)}, args));
    EXPECT_TRUE(submit(large));
}

void submit_many(CommandBufferTest& test, const metal::Buffer& buffer, int count) {
    metal::Completion completion;
    for (int i = 0; i < count; ++i) {
        auto commands = *CommandBuffer::open(*test.device);
        ASSERT_TRUE(commands.dispatch(test.increment, CommandBufferTest::kLaunch, {whole(buffer)},
                                      CountArgs{kCount}));
        ASSERT_TRUE(commands.copy(whole(buffer).part(0, 4), whole(buffer).part(4, 4)));
        ASSERT_TRUE(commands.submit(60, completion));
    }
}

TEST_F(CommandBufferTest, SubmissionsLeaveNoObjectsBehindOnAnyThread) {
    softmetal::set_checks(device->handle(), softmetal::Checks::Off);
    submit_many(*this, buffer, 10);
    const auto before = objects();
    submit_many(*this, buffer, 2000);
    EXPECT_EQ(objects(), before);
    auto other = *device->new_buffer(kCount * 4);
    const auto with_other = objects();
    at_once([&] { submit_many(*this, other, 2000); }, [&] { submit_many(*this, buffer, 2000); });
    EXPECT_EQ(objects(), with_other);
    EXPECT_EQ(values().back(), 4010u);
}

TEST(LabelRing, KeepsTheLast16) {
    metal::LabelRing ring;
    EXPECT_EQ(ring.text(), "none");
    ring.add("first");
    ring.add("second");
    EXPECT_EQ(ring.text(), "first, second");
    for (int i = 0; i < 15; ++i) ring.add("x");
    EXPECT_EQ(ring.text(), "second, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x");
}

}  // namespace
}  // namespace minfer::test
