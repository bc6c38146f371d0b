// A program of its own because it replaces operator new: a decoded token of a whole model on the
// CPU backend, worker threads included.

#include <gtest/gtest.h>

#include "support/count_allocations.h"
#include "support/tiny_engine.h"

namespace minfer {
namespace {

TEST(EngineAllocation, ADecodedTokenAllocatesNothing) {
    for (const auto type : {DType::F32, DType::Q8_0, DType::Q4_K})
        for (const auto activations : {CpuActivations::Quantized, CpuActivations::F32}) {
            const TinyEngine tiny("tiny-qwen3", type, {.n_ctx = 64}, activations, 2);
            auto& engine = tiny.engine();
            const auto step = [&](int token) {
                const auto id = static_cast<TokenId>(token);
                if (!engine.evaluate(std::span(&id, 1))) std::abort();
            };
            step(0);
            ASSERT_GT(test::allocations, 0u);  // the counter works
            const auto before = engine.counters();
            test::allocations = 0;
            for (int token = 1; token < 60; ++token) step(token);
            EXPECT_EQ(test::allocations, 0u) << name(type);
            EXPECT_EQ(engine.counters().builds, before.builds);
            EXPECT_EQ(engine.counters().remaps, before.remaps);
        }
}

}  // namespace
}  // namespace minfer
