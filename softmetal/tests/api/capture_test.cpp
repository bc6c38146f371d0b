// Captures, kernel logs and counters, as far as a device without them answers.
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

namespace fs = std::filesystem;

class Capture : public Metal {
  protected:
    Capture() {
        path_ = fs::temp_directory_path() /
                (std::string("softmetal-") +
                 testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::remove(path_);
    }
    ~Capture() override { fs::remove(path_); }

    bool start(NS::Object* object, NS::Error** error = nullptr) {
        auto descriptor = NS::TransferPtr(MTL::CaptureDescriptor::alloc()->init());
        descriptor->setCaptureObject(object);
        descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
        descriptor->setOutputURL(NS::URL::fileURLWithPath(test::text(path_.string())));
        return manager()->startCapture(descriptor.get(), error);
    }
    static MTL::CaptureManager* manager() { return MTL::CaptureManager::sharedCaptureManager(); }

    // Fills a buffer of that name on `on`.
    void fill(MTL::CommandQueue* on, const char* name) {
        auto filled = buffer(64);
        filled->setLabel(test::text(name));
        auto* work = on->commandBuffer();
        work->setLabel(MTLSTR("work"));
        auto* blit = work->blitCommandEncoder();
        blit->fillBuffer(filled.get(), NS::Range(0, 64), 1);
        blit->endEncoding();
        work->commit();
        work->waitUntilCompleted();
    }
    std::string written() const {
        std::ostringstream all;
        all << std::ifstream(path_).rdbuf();
        return all.str();
    }
    bool holds(const char* word) const { return written().find(word) != std::string::npos; }

  private:
    fs::path path_;
};
using LogState = Metal;
using Counters = Metal;

TEST_F(Capture, WritesTheCommandsOfADevice) {
    auto& on = queue;
    on->setLabel(MTLSTR("main queue"));
    fill(on.get(), "before");
    ASSERT_TRUE(start(device.get()));
    EXPECT_TRUE(manager()->isCapturing());
    fill(on.get(), "during");
    manager()->stopCapture();
    EXPECT_FALSE(manager()->isCapturing());
    fill(on.get(), "after");
    EXPECT_TRUE(holds("during"));
    EXPECT_TRUE(holds("command buffer 'work' of queue 'main queue'"));
    EXPECT_FALSE(holds("before"));
    EXPECT_FALSE(holds("after"));
}

TEST_F(Capture, OfAQueueLeavesOthersOut) {
    auto other = NS::TransferPtr(device->newCommandQueue());
    ASSERT_TRUE(start(queue.get()));
    fill(queue.get(), "first");
    fill(other.get(), "second");
    manager()->stopCapture();
    EXPECT_TRUE(holds("first"));
    EXPECT_FALSE(holds("second"));
}

TEST_F(Capture, OfAScopeLastsFromItsBeginToItsEnd) {
    auto& on = queue;
    auto scope = NS::TransferPtr(manager()->newCaptureScope(on.get()));
    EXPECT_EQ(scope->commandQueue(), on.get());
    EXPECT_EQ(scope->device(), device.get());
    ASSERT_TRUE(start(scope.get()));
    fill(on.get(), "before");
    scope->beginScope();
    fill(on.get(), "during");
    scope->endScope();
    EXPECT_FALSE(manager()->isCapturing());
    fill(on.get(), "after");
    EXPECT_TRUE(holds("during"));
    EXPECT_FALSE(holds("before"));
    EXPECT_FALSE(holds("after"));
}

TEST_F(Capture, RefusesWhatItCannotDo) {
    EXPECT_TRUE(manager()->supportsDestination(MTL::CaptureDestinationGPUTraceDocument));
    NS::Error* error = nullptr;
    EXPECT_FALSE(start(nullptr, &error));
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), MTL::CaptureErrorInvalidDescriptor);
    ASSERT_TRUE(start(device.get()));
    EXPECT_FALSE(start(device.get(), &error));
    EXPECT_EQ(error->code(), MTL::CaptureErrorAlreadyCapturing);
    manager()->stopCapture();
    EXPECT_FALSE(start(device.get(), &error));  // the file is there
    EXPECT_EQ(error->code(), MTL::CaptureErrorInvalidDescriptor);
}

TEST_F(Capture, KeepsADefaultScope) {
    auto scope = NS::TransferPtr(manager()->newCaptureScope(device.get()));
    manager()->setDefaultCaptureScope(scope.get());
    EXPECT_EQ(manager()->defaultCaptureScope(), scope.get());
    manager()->setDefaultCaptureScope(nullptr);
    EXPECT_EQ(manager()->defaultCaptureScope(), nullptr);
}

TEST_F(LogState, IsMadeFromADescriptor) {
    auto descriptor = NS::TransferPtr(MTL::LogStateDescriptor::alloc()->init());
    descriptor->setLevel(MTL::LogLevelDebug);
    descriptor->setBufferSize(4096);
    EXPECT_EQ(descriptor->level(), MTL::LogLevelDebug);
    NS::Error* error = nullptr;
    auto state = NS::TransferPtr(device->newLogState(descriptor.get(), &error));
    EXPECT_TRUE(state);
    descriptor->setBufferSize(1);
    EXPECT_EQ(device->newLogState(descriptor.get(), &error), nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->code(), static_cast<NS::Integer>(MTL::LogStateErrorInvalidSize));
}

TEST_F(LogState, HearsWhatKernelsSay) {
    const auto kernel = pipeline(R"(
        #include <metal_stdlib>
        #include <metal_logging>
        using namespace metal;
        constant os_log logger("com.example", "kernels");
        kernel void talk(uint i [[thread_position_in_grid]]) {
            if (i == 3) logger.log_error("thread %u says %s", i, "no");
            if (i == 5) logger.log_debug("thread %u is quiet", i);
            if (i == 7) os_log_default.log("%.2f", 0.5f);
        }
    )",
                                 "talk");
    ASSERT_TRUE(kernel);
    auto logs = NS::TransferPtr(MTL::LogStateDescriptor::alloc()->init());
    logs->setLevel(MTL::LogLevelInfo);
    auto state = NS::TransferPtr(device->newLogState(logs.get(), nullptr));
    std::mutex mutex;
    std::vector<std::string> heard;
    state->addLogHandler(MTL::LogHandlerFunction(
        [&](NS::String* subsystem, NS::String* category, MTL::LogLevel level, NS::String* message) {
            const std::scoped_lock lock(mutex);
            heard.push_back(text(subsystem) + "/" + text(category) + "/" + std::to_string(level) +
                            "/" + text(message));
        }));
    auto descriptor = NS::TransferPtr(MTL::CommandBufferDescriptor::alloc()->init());
    descriptor->setLogState(state.get());
    auto* work = queue->commandBuffer(descriptor.get());
    auto* encoder = work->computeCommandEncoder();
    encoder->setComputePipelineState(kernel.get());
    encoder->dispatchThreads(MTL::Size(8, 1, 1), MTL::Size(8, 1, 1));
    encoder->endEncoding();
    EXPECT_EQ(run(work), "");
    const std::scoped_lock lock(mutex);
    EXPECT_THAT(
        heard, testing::UnorderedElementsAre("com.example/kernels/4/thread 3 says no", "//3/0.50"));
}

TEST_F(Counters, AreNotThere) {
    EXPECT_EQ(device->counterSets()->count(), 0u);
    EXPECT_FALSE(device->supportsCounterSampling(MTL::CounterSamplingPointAtDispatchBoundary));
    auto descriptor = NS::TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
    NS::Error* error = nullptr;
    EXPECT_EQ(device->newCounterSampleBuffer(descriptor.get(), &error), nullptr);
    EXPECT_NE(error, nullptr);
    EXPECT_STREQ(MTL::CommonCounterSetTimestamp->utf8String(), "timestamp");
}

}  // namespace
}  // namespace softmetal::test
