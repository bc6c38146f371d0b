// A program of its own because it replaces operator new: counts every allocation of a decode step.

#include <gtest/gtest.h>

#include "graph/runner.h"
#include "support/count_allocations.h"
#include "support/toy_model.h"

namespace minfer {
namespace {

class Decoder {
  public:
    explicit Decoder(GraphParams params) : params_(params) {
        params_.n_ctx = 64;
        ToyModel::register_weights(cpu_);
        ToyModel::register_weights(gpu_);
        gpu_.refused_ops = {"RmsNorm"};
    }

    // The logits of one token at `position`.
    Result<> step(int32_t position) {
        MINFER_TRY(runner_.bind(params_));
        const int32_t token[] = {position % 11};
        const int32_t at[] = {position};
        const int32_t window[] = {0, position + 1};
        MINFER_TRY(runner_.write_input("token_ids", std::as_bytes(std::span(token))));
        MINFER_TRY(runner_.write_input("positions", std::as_bytes(std::span(at))));
        MINFER_TRY(runner_.write_input("cells", std::as_bytes(std::span(at))));
        MINFER_TRY(runner_.write_input("attn_span", std::as_bytes(std::span(window))));
        MINFER_TRY(runner_.execute());
        return runner_.read_output(0, logits_);
    }

    const RunnerCounters& counters() const { return runner_.counters(); }

  private:
    GraphParams params_;
    FakeBackend cpu_{BackendId::Cpu}, gpu_{BackendId::Metal, "metal"};
    GraphRunner runner_{{&gpu_, &cpu_}, ToyModel::build};
    std::vector<float> logits_ = std::vector<float>(ToyModel::kVocab);
};

void expect_no_allocation_per_token(GraphParams params, bool crosses) {
    auto decoder = Decoder(params);
    ASSERT_TRUE(decoder.step(0));
    const auto before = decoder.counters();
    ASSERT_GT(test::allocations, 0u);  // the counter works
    test::allocations = 0;
    for (int32_t position = 1; position < 50; ++position)
        if (!decoder.step(position)) std::abort();
    EXPECT_EQ(test::allocations, 0u);
    EXPECT_EQ(decoder.counters().builds, before.builds);
    EXPECT_EQ(decoder.counters().remaps, before.remaps);
    EXPECT_EQ(decoder.counters().reuses, 49u);
    EXPECT_EQ(decoder.counters().nodes_run, 50 * before.nodes_run);
    EXPECT_EQ(decoder.counters().boundary_copies, 50 * before.boundary_copies);
    EXPECT_EQ(before.boundary_copies > 0, crosses);
}

TEST(Allocation, ADecodedTokenAllocatesNothing) { expect_no_allocation_per_token({}, false); }

TEST(Allocation, ADecodedTokenThatCrossesBackendsAllocatesNothing) {
    expect_no_allocation_per_token({.gpu = true, .gpu_layers = 2}, true);
}

TEST(Allocation, AFusedDecodedTokenAllocatesNothing) {
    expect_no_allocation_per_token(
        {.gpu = true, .gpu_layers = 2, .fuse_qkv = true, .fuse_ffn = true}, true);
}

}  // namespace
}  // namespace minfer
