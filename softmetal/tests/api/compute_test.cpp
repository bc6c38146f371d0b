// Kernels run and their results come back: the argument table and the forms of dispatch.
#include "softmetal/tests/api/support.h"

namespace softmetal::test {
namespace {

class Compute : public Metal {};

TEST_F(Compute, AddsTwoVectors) {
    const auto add = pipeline(kKernels, "add");
    const auto a = buffer<float>({1, 2, 3, 4}), b = buffer<float>({10, 20, 30, 40});
    const auto out = buffer(4 * sizeof(float));
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(add.get());
    encoder->setBuffer(a.get(), 0, 0);
    encoder->setBuffer(b.get(), 0, 1);
    encoder->setBuffer(out.get(), 0, 2);
    encoder->dispatchThreads({4, 1, 1}, {4, 1, 1});
    encoder->endEncoding();
    EXPECT_EQ(run(commands), "");
    EXPECT_THAT(values<float>(out.get()), testing::ElementsAre(11, 22, 33, 44));
}

}  // namespace
}  // namespace softmetal::test
