// What a capture holds of a command buffer: each command, in softmetal's own words.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Trace : public Metal {
  protected:
    void SetUp() override {
        Metal::SetUp();
        path_ = std::filesystem::temp_directory_path() /
                (std::string("softmetal-trace-") +
                 testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove(path_);
    }
    void TearDown() override {
        std::filesystem::remove(path_);
        Metal::TearDown();
    }
    // Lines of the trace of one command buffer that `encode` fills.
    template <class Encode>
    std::vector<std::string> lines_of(Encode encode) {
        auto* manager = MTL::CaptureManager::sharedCaptureManager();
        const auto descriptor = NS::TransferPtr(MTL::CaptureDescriptor::alloc()->init());
        descriptor->setCaptureObject(queue.get());
        descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
        descriptor->setOutputURL(NS::URL::fileURLWithPath(text(path_.string())));
        NS::Error* error = nullptr;
        EXPECT_TRUE(manager->startCapture(descriptor.get(), &error)) << description(error);
        auto* commands = queue->commandBuffer();
        encode(commands);
        EXPECT_EQ(run(commands), "");
        manager->stopCapture();
        std::vector<std::string> lines;
        auto file = std::ifstream(path_);
        for (std::string line; std::getline(file, line);) {
            lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
        }
        return lines;
    }

  private:
    std::filesystem::path path_;
};

TEST_F(Trace, HoldsBothFormsOfDispatch) {
    const auto sum = pipeline(kKernels, "sum_groups");
    const auto increment = pipeline(kKernels, "increment");
    const auto words = buffer(1024), totals = buffer(64);
    words->setLabel(text("words"));
    totals->setLabel(text("totals"));
    const auto lines = lines_of([&](MTL::CommandBuffer* commands) {
        auto* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
        encoder->setLabel(text("pass"));
        encoder->setComputePipelineState(increment.get());
        encoder->setBuffer(words.get(), 4, 0);
        encoder->dispatchThreads({70, 2, 1}, {32, 1, 1});
        encoder->memoryBarrier(MTL::BarrierScopeBuffers);
        encoder->setComputePipelineState(sum.get());
        encoder->setBuffer(words.get(), 0, 0);
        encoder->setBuffer(totals.get(), 0, 1);
        encoder->setThreadgroupMemoryLength(128, 0);
        encoder->dispatchThreadgroups({3, 1, 1}, {32, 1, 1});
        encoder->endEncoding();
    });
    EXPECT_THAT(lines, testing::IsSupersetOf({
                           "compute encoder concurrent 'pass'",
                           "dispatch increment threads 70x2x1 by 32x1x1 threads",
                           "buffer(0) out: buffer 'words' at 4, read and written",
                           "barrier scope 1",
                           "dispatch sum_groups threadgroups 3x1x1 by 32x1x1 threads",
                           "buffer(0) in: buffer 'words' at 0, read",
                           "buffer(1) out: buffer 'totals' at 0, read and written",
                           "threadgroup(0) shared: 128 bytes",
                           "end",
                       }));
}

TEST_F(Trace, HoldsGridsFromBuffersAndBytes) {
    const auto fill = pipeline(kKernels, "fill");
    const auto grid = buffer<uint32_t>({1, 1, 1}), out = buffer(64);
    grid->setLabel(text("grid"));
    const auto lines = lines_of([&](MTL::CommandBuffer* commands) {
        auto* encoder = commands->computeCommandEncoder();
        const uint32_t value = 1;
        encoder->setComputePipelineState(fill.get());
        encoder->setBuffer(out.get(), 0, 0);
        encoder->setBytes(&value, sizeof value, 1);
        encoder->dispatchThreadgroups(grid.get(), 0, {4, 1, 1});
        encoder->endEncoding();
    });
    EXPECT_THAT(lines, testing::IsSupersetOf({
                           "compute encoder serial",
                           "dispatch fill threadgroups from buffer 'grid' at 0 by 4x1x1 threads",
                           "buffer(0) out: the buffer of 64 bytes at 0, read and written",
                           "buffer(1) value: 4 bytes set",
                       }));
}

TEST_F(Trace, HoldsCopies) {
    const auto from = buffer(64), to = buffer(64);
    from->setLabel(text("from"));
    to->setLabel(text("to"));
    const auto lines = lines_of([&](MTL::CommandBuffer* commands) {
        auto* blit = commands->blitCommandEncoder();
        blit->copyFromBuffer(from.get(), 0, to.get(), 32, 16);
        blit->fillBuffer(to.get(), NS::Range(0, 8), 255);
        blit->endEncoding();
    });
    EXPECT_THAT(lines, testing::IsSupersetOf({
                           "blit encoder",
                           "copy 16 bytes from buffer 'from' at 0 to buffer 'to' at 32",
                           "fill 8 bytes of buffer 'to' at 0 with 255",
                       }));
}

}  // namespace
}  // namespace softmetal::test
