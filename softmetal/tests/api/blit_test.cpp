#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Blit : public Metal {};

TEST_F(Blit, CopiesBetweenBuffers) {
    const auto from = buffer<uint32_t>({1, 2, 3, 4}), to = buffer<uint32_t>({9, 9, 9, 9});
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->copyFromBuffer(from.get(), 4, to.get(), 8, 8);
    blit->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint32_t>(to.get()), testing::ElementsAre(9, 9, 2, 3));
}

TEST_F(Blit, CopiesWithinABuffer) {
    const auto both = buffer<uint32_t>({1, 2, 3, 4});
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->copyFromBuffer(both.get(), 0, both.get(), 8, 8);
    blit->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint32_t>(both.get()), testing::ElementsAre(1, 2, 1, 2));
}

TEST_F(Blit, FillsARange) {
    const auto to = buffer(8);
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder(MTL::BlitPassDescriptor::blitPassDescriptor());
    blit->fillBuffer(to.get(), NS::Range(2, 3), 0xff);
    blit->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint8_t>(to.get()), testing::ElementsAre(0, 0, 255, 255, 255, 0, 0, 0));
}

TEST_F(Blit, MovesBytesThroughPrivateStorage) {
    const auto from = buffer<uint32_t>({7, 8}), to = buffer(8);
    const auto between = NS::TransferPtr(device->newBuffer(8, MTL::ResourceStorageModePrivate));
    auto* commands = queue->commandBuffer();
    auto* blit = commands->blitCommandEncoder();
    blit->copyFromBuffer(from.get(), 0, between.get(), 0, 8);
    blit->copyFromBuffer(between.get(), 0, to.get(), 0, 8);
    blit->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint32_t>(to.get()), testing::ElementsAre(7, 8));
}

TEST_F(Blit, RunsInOrderWithKernels) {
    const auto increment = pipeline(kKernels, "increment");
    const auto words = buffer(8), copy = buffer(8);
    auto* commands = queue->commandBuffer();
    auto* compute = commands->computeCommandEncoder();
    compute->setComputePipelineState(increment.get());
    compute->setBuffer(words.get(), 0, 0);
    compute->dispatchThreads({2, 1, 1}, {2, 1, 1});
    compute->endEncoding();
    auto* blit = commands->blitCommandEncoder();
    blit->copyFromBuffer(words.get(), 0, copy.get(), 0, 8);
    blit->endEncoding();
    compute = commands->computeCommandEncoder();
    compute->setComputePipelineState(increment.get());
    compute->setBuffer(words.get(), 0, 0);
    compute->dispatchThreads({2, 1, 1}, {2, 1, 1});
    compute->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint32_t>(copy.get()), testing::ElementsAre(1, 1));
    EXPECT_THAT(values<uint32_t>(words.get()), testing::ElementsAre(2, 2));
}

}  // namespace
}  // namespace softmetal::test
