// Kernels run and their results come back: the argument table and the forms of dispatch.
#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Compute : public Metal {
  protected:
    // One encoder that `encode` fills.
    template <class Encode>
    std::string compute(const NS::SharedPtr<MTL::ComputePipelineState>& with, Encode encode) {
        auto* commands = queue->commandBuffer();
        auto* encoder = commands->computeCommandEncoder();
        encoder->setComputePipelineState(with.get());
        encode(encoder);
        encoder->endEncoding();
        return run(commands);
    }
};

TEST_F(Compute, AddsTwoVectors) {
    const auto a = buffer<float>({1, 2, 3, 4}), b = buffer<float>({10, 20, 30, 40});
    const auto out = buffer(16);
    EXPECT_EQ(compute(pipeline(kKernels, "add"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          encoder->setBuffer(a.get(), 0, 0);
                          encoder->setBuffer(b.get(), 0, 1);
                          encoder->setBuffer(out.get(), 0, 2);
                          encoder->dispatchThreads({4, 1, 1}, {4, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<float>(out.get()), testing::ElementsAre(11, 22, 33, 44));
}

TEST_F(Compute, TakesSeveralBuffersAtOnce) {
    const auto a = buffer<float>({0, 1, 2}), b = buffer<float>({10, 20}), out = buffer(8);
    EXPECT_EQ(compute(pipeline(kKernels, "add"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          const MTL::Buffer* all[] = {a.get(), b.get(), out.get()};
                          const NS::UInteger offsets[] = {4, 0, 0};
                          encoder->setBuffers(all, offsets, NS::Range(0, 3));
                          encoder->dispatchThreads({2, 1, 1}, {2, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<float>(out.get()), testing::ElementsAre(11, 22));
}

TEST_F(Compute, StartsAtABuffersOffset) {
    const auto out = buffer(16);
    EXPECT_EQ(compute(pipeline(kKernels, "increment"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          encoder->setBuffer(out.get(), 4, 0);
                          encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
                          encoder->setBufferOffset(12, 0);
                          encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::ElementsAre(0, 1, 0, 1));
}

TEST_F(Compute, CopiesSetBytesWhenTheyAreSet) {
    const auto out = buffer(8);
    EXPECT_EQ(compute(pipeline(kKernels, "fill"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          uint32_t value = 3;
                          encoder->setBytes(&value, sizeof value, 1);
                          encoder->setBuffer(out.get(), 0, 0);
                          encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
                          value = 4;
                          encoder->setBuffer(out.get(), 4, 0);
                          encoder->setBytes(&value, sizeof value, 1);
                          value = 5;
                          encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::ElementsAre(3, 4));
}

TEST_F(Compute, RunsWholeThreadgroups) {
    const auto out = buffer(6 * 4);
    EXPECT_EQ(compute(pipeline(kKernels, "increment"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          encoder->setBuffer(out.get(), 0, 0);
                          encoder->dispatchThreadgroups({3, 1, 1}, {2, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::Each(1));
}

TEST_F(Compute, EndsARaggedGridWhereItEnds) {
    const auto out = buffer(100 * 4);
    EXPECT_EQ(compute(pipeline(kKernels, "increment"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          encoder->setBuffer(out.get(), 0, 0);
                          encoder->dispatchThreads({70, 1, 1}, {32, 1, 1});
                      }),
              "");
    const auto words = values<uint32_t>(out.get());
    EXPECT_THAT(std::vector(words.begin(), words.begin() + 70), testing::Each(1));
    EXPECT_THAT(std::vector(words.begin() + 70, words.end()), testing::Each(0));
}

TEST_F(Compute, ReadsTheGridFromABufferWhenItRuns) {
    const auto out = buffer(16 * 4);
    const auto grid = buffer<uint32_t>({99, 0, 0, 0});
    const auto fill = pipeline(kKernels, "fill");
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(fill.get());
    // The grid is written by the work before.
    const uint32_t groups[] = {2, 1, 1};
    for (uint32_t i = 0; i < 3; ++i) {
        encoder->setBuffer(grid.get(), 4 + i * 4, 0);
        encoder->setBytes(&groups[i], 4, 1);
        encoder->dispatchThreads({1, 1, 1}, {1, 1, 1});
    }
    const uint32_t value = 8;
    encoder->setBuffer(out.get(), 0, 0);
    encoder->setBytes(&value, 4, 1);
    encoder->dispatchThreadgroups(grid.get(), 4, {4, 1, 1});
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
    const auto words = values<uint32_t>(out.get());
    EXPECT_THAT(std::vector(words.begin(), words.begin() + 8), testing::Each(8));
    EXPECT_THAT(std::vector(words.begin() + 8, words.end()), testing::Each(0));
}

TEST_F(Compute, SharesThreadgroupMemory) {
    const auto in = buffer<uint32_t>({1, 2, 3, 4, 5, 6, 7, 8}), out = buffer(8);
    EXPECT_EQ(compute(pipeline(kKernels, "sum_groups"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          encoder->setBuffer(in.get(), 0, 0);
                          encoder->setBuffer(out.get(), 0, 1);
                          encoder->setThreadgroupMemoryLength(16, 0);
                          encoder->dispatchThreadgroups({2, 1, 1}, {4, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::ElementsAre(10, 26));
}

TEST_F(Compute, PassesStructsByReference) {
    struct Shape {
        uint32_t rows, columns;
        float scale;
    };
    const auto out = buffer<float>({1, 2, 3, 4, 5, 6});
    EXPECT_EQ(compute(pipeline(kKernels, "scale"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          const auto shape = Shape{.rows = 2, .columns = 3, .scale = 0.5f};
                          encoder->setBytes(&shape, sizeof shape, 1);
                          encoder->setBuffer(out.get(), 0, 0);
                          encoder->dispatchThreadgroups({1, 1, 1}, {8, 8, 1});
                      }),
              "");
    EXPECT_THAT(values<float>(out.get()), testing::ElementsAre(0.5, 1, 1.5, 2, 2.5, 3));
}

TEST_F(Compute, ReachesBuffersThroughAddressesInBuffers) {
    struct Table {
        uint64_t data;
        uint32_t count, unused;
    };
    const auto out = buffer(16);
    const auto table = buffer<Table>({{.data = out->gpuAddress(), .count = 4, .unused = 0}});
    EXPECT_EQ(compute(pipeline(kKernels, "through_table"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          encoder->setBuffer(table.get(), 0, 0);
                          encoder->useResource(out.get(), MTL::ResourceUsageWrite);
                          encoder->dispatchThreads({4, 1, 1}, {4, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::ElementsAre(0, 1, 4, 9));
}

TEST_F(Compute, RunsDispatchesOfASerialEncoderOneAfterTheOther) {
    const auto out = buffer(64 * 4);
    EXPECT_EQ(compute(pipeline(kKernels, "increment"),
                      [&](MTL::ComputeCommandEncoder* encoder) {
                          EXPECT_EQ(encoder->dispatchType(), MTL::DispatchTypeSerial);
                          encoder->setBuffer(out.get(), 0, 0);
                          for (int i = 0; i < 50; ++i)
                              encoder->dispatchThreads({64, 1, 1}, {32, 1, 1});
                      }),
              "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::Each(50));
}

TEST_F(Compute, OrdersDispatchesOfAConcurrentEncoderByBarriers) {
    const auto increment = pipeline(kKernels, "increment");
    const auto out = buffer(64 * 4);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    EXPECT_EQ(encoder->dispatchType(), MTL::DispatchTypeConcurrent);
    encoder->setComputePipelineState(increment.get());
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads({64, 1, 1}, {32, 1, 1});
    encoder->memoryBarrier(MTL::BarrierScopeBuffers);
    encoder->dispatchThreads({64, 1, 1}, {32, 1, 1});
    const MTL::Resource* resources[] = {out.get()};
    encoder->memoryBarrier(resources, 1);
    encoder->dispatchThreads({64, 1, 1}, {32, 1, 1});
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<uint32_t>(out.get()), testing::Each(3));
}

TEST_F(Compute, TakesTheDispatchTypeFromADescriptor) {
    auto* descriptor = MTL::ComputePassDescriptor::computePassDescriptor();
    descriptor->setDispatchType(MTL::DispatchTypeConcurrent);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder(descriptor);
    EXPECT_EQ(encoder->dispatchType(), MTL::DispatchTypeConcurrent);
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
}

TEST_F(Compute, TakesLabelsAndDebugGroups) {
    auto* commands = queue->commandBuffer();
    commands->pushDebugGroup(text("frame"));
    auto* encoder = commands->computeCommandEncoder();
    encoder->setLabel(text("pass"));
    EXPECT_EQ(text(encoder->label()), "pass");
    encoder->pushDebugGroup(text("group"));
    encoder->insertDebugSignpost(text("here"));
    encoder->popDebugGroup();
    EXPECT_EQ(encoder->device(), device.get());
    encoder->endEncoding();
    commands->popDebugGroup();
    EXPECT_EQ(run(commands), "");
}

}  // namespace
}  // namespace softmetal::test
