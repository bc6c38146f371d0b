// A child after fork() has none of the threads that run the work. It must stop by name, not wait
// for them.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Fork : public Metal {
  protected:
    void SetUp() override {
        Metal::SetUp();
        out = buffer(64);
        increment = pipeline(kKernels, "increment");
        ASSERT_EQ(run(encoded()), "");
    }
    void TearDown() override {
        out.reset();
        increment.reset();
        Metal::TearDown();
    }

    MTL::CommandBuffer* encoded() {
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(increment.get());
        encoder->setBuffer(out.get(), 0, 0);
        encoder->dispatchThreads({16, 1, 1}, {16, 1, 1});
        encoder->endEncoding();
        return commands;
    }

    struct Ended {
        int status = 0;
        std::string said;
    };
    // What a child makes of `work`. One that hangs is ended by its alarm.
    template <class Work>
    static Ended in_child(Work work) {
        std::array<int, 2> ends = {};
        EXPECT_EQ(pipe(ends.data()), 0);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            dup2(ends[1], STDERR_FILENO);
            close(ends[0]);
            close(ends[1]);
            work();
            _exit(0);
        }
        close(ends[1]);
        Ended ended;
        std::array<char, 512> part = {};
        for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;)
            ended.said.append(part.data(), static_cast<size_t>(n));
        close(ends[0]);
        EXPECT_EQ(waitpid(child, &ended.status, 0), child);
        return ended;
    }
    static void expect_stopped(const Ended& ended, const std::string& call) {
        EXPECT_TRUE(WIFSIGNALED(ended.status)) << ended.status;
        EXPECT_EQ(WTERMSIG(ended.status), SIGABRT);
        EXPECT_THAT(ended.said,
                    testing::HasSubstr(call + ": Metal cannot be used after fork without exec"));
    }

    NS::SharedPtr<MTL::Buffer> out;
    NS::SharedPtr<MTL::ComputePipelineState> increment;
};

TEST_F(Fork, StopsTheChildThatWorksOn) {
    expect_stopped(in_child([this] { run(encoded()); }), "commandBuffer");
    auto* before = encoded();
    expect_stopped(in_child([&] { before->commit(); }), "commit");
    expect_stopped(in_child([&] { before->waitUntilCompleted(); }), "waitUntilCompleted");
    EXPECT_EQ(run(before), "");
}

TEST_F(Fork, StopsTheChildOfABusyProcess) {
    const auto event = NS::TransferPtr(device->newSharedEvent());
    auto* busy = queue->commandBuffer();
    busy->encodeWait(event.get(), 1);
    busy->commit();
    expect_stopped(in_child([&] { busy->waitUntilCompleted(); }), "waitUntilCompleted");
    expect_stopped(in_child([&] { queue->commandBuffer(); }), "commandBuffer");
    expect_stopped(in_child([&] { event->waitUntilSignaledValue(1, ~uint64_t{0}); }),
                   "waitUntilSignaledValue");
    event->setSignaledValue(1);
    busy->waitUntilCompleted();
    EXPECT_EQ(busy->status(), MTL::CommandBufferStatusCompleted);
}

TEST_F(Fork, LetsTheChildDropWhatItHas) {
    const auto ended = in_child([this] {
        TearDown();
        std::_Exit(7);
    });
    EXPECT_TRUE(WIFEXITED(ended.status)) << ended.status << ended.said;
    EXPECT_EQ(WEXITSTATUS(ended.status), 7) << ended.said;
}

TEST_F(Fork, LeavesTheParentAtWork) {
    in_child([] {});
    EXPECT_EQ(run(encoded()), "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::Each(2u));
}

}  // namespace
}  // namespace softmetal::test
