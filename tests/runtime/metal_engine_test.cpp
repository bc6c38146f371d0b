// An engine whose every node runs on the software Metal device: what a device failure leaves, and
// that nothing grows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <map>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "runtime/engine.h"
#include "softmetal/control.h"
#include "support/nmse.h"
#include "support/retyped_model.h"
#include "support/tiny_model.h"
#include "support/tolerances.h"

namespace minfer {
namespace {

using testing::HasSubstr;

std::vector<TokenId> some_tokens(size_t count) {
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((i * 37 + 11) % 250));
    return tokens;
}

struct MetalEngine : testing::Test {
    TinyModel tiny{"tiny-qwen3", DType::F32};
    // The system's device is one object while somebody holds it: the backends' as well.
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    std::unique_ptr<CpuBackend> cpu =
        make_cpu_backend({.threads = 2, .activations = CpuActivations::F32});
    std::vector<std::unique_ptr<MetalBackend>> backends;  // one for each engine
    std::vector<TokenId> tokens = some_tokens(12);

    void SetUp() override { softmetal::set_checks(device.get(), softmetal::Checks::All); }

    Result<std::unique_ptr<Engine>> create(MetalOptions options = {}) {
        auto made = make_metal_backend(options);
        EXPECT_TRUE(made) << made.error().what;
        if (!made) return std::unexpected(made.error());
        backends.push_back(*std::move(made));
        return Engine::create(tiny.model, {backends.back().get(), cpu.get()},
                              {.n_ctx = 32, .n_ubatch = 4});
    }
    std::unique_ptr<Engine> engine(MetalOptions options = {}) {
        auto made = create(options);
        EXPECT_TRUE(made) << made.error().what;
        return made ? *std::move(made) : nullptr;
    }
    std::span<const TokenId> part(size_t from, size_t count) {
        return std::span(tokens).subspan(from, count);
    }
};

std::vector<float> copy(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

TEST_F(MetalEngine, EveryNodeIsOnMetalAndTheCpuAloneHasTheSameModel) {
    const auto whole = engine();
    ASSERT_NE(whole, nullptr);
    const auto alone = Engine::create(tiny.model, {cpu.get()}, {.n_ctx = 32, .n_ubatch = 4});
    ASSERT_TRUE(alone);
    for (const auto& step : {part(0, 7), part(7, 1), part(8, 1)}) {
        const auto got = whole->evaluate(step), want = (*alone)->evaluate(step);
        ASSERT_TRUE(got && want) << got.error().what;
        EXPECT_LE(test::nmse(*got, *want), test::kLogitsExactBar);
        for (const auto& node : whole->graph().nodes)
            EXPECT_EQ(node.backend, BackendId::Metal) << node.name;
        for (const auto& node : (*alone)->graph().nodes)
            EXPECT_EQ(node.backend, BackendId::Cpu) << node.name;
    }
    EXPECT_EQ(whole->counters().boundary_copies, 0u);
}

TEST_F(MetalEngine, AModelOfMixedTypesIsWholeOnMetalAndFusesTheBlocksThatCan) {
    TinyModel mixed(
        retyped_model(tiny_model_bytes("tiny-qwen3", DType::Q8_0),
                      {{"blk.0.attn_v.weight", DType::Q4_0}, {"blk.1.ffn_up.weight", DType::F16}}));
    const auto options = EngineOptions{.n_ctx = 32, .n_ubatch = 4};
    const auto metal = make_metal_backend();
    ASSERT_TRUE(metal) << metal.error().what;
    const auto on_metal = Engine::create(mixed.model, {metal->get(), cpu.get()}, options);
    ASSERT_TRUE(on_metal) << on_metal.error().what;
    const auto on_cpu = Engine::create(mixed.model, {cpu.get()}, options);
    ASSERT_TRUE(on_cpu) << on_cpu.error().what;
    for (const auto& step : {part(0, 7), part(7, 1), part(8, 1)}) {
        const auto got = (*on_metal)->evaluate(step), want = (*on_cpu)->evaluate(step);
        ASSERT_TRUE(got && want) << got.error().what;
        EXPECT_LE(test::nmse(*got, *want), test::kLogitsExactBar);
    }
    const auto& graph = (*on_metal)->graph();
    for (const auto& node : graph.nodes) EXPECT_EQ(node.backend, BackendId::Metal) << node.name;
    EXPECT_EQ(graph.find("blk.0.attn_qkv"), nullptr);
    EXPECT_NE(graph.find("blk.1.attn_qkv"), nullptr);
    EXPECT_NE(graph.find("blk.0.ffn_gu"), nullptr);
    EXPECT_EQ(graph.find("blk.1.ffn_gu"), nullptr);
}

TEST_F(MetalEngine, TwoModelsShareABackendUnderTheirPrefixesOnly) {
    const auto first = engine();
    ASSERT_NE(first, nullptr);
    const auto shared = std::vector<Backend*>{backends.back().get(), cpu.get()};
    const auto alone = copy(*first->evaluate(part(0, 5)));
    const TinyModel same("tiny-qwen3", DType::BF16), draft("tiny-qwen3", DType::BF16, "draft/");
    const auto refused = Engine::create(same.model, shared, {.n_ctx = 32});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::BadInput);
    const auto second = Engine::create(draft.model, shared, {.n_ctx = 32});
    ASSERT_TRUE(second) << second.error().what;
    ASSERT_TRUE((*second)->offload().on_device());
    EXPECT_NE(copy(*(*second)->evaluate(part(0, 5))), alone);
    first->truncate(0);
    EXPECT_EQ(copy(*first->evaluate(part(0, 5))), alone);
}

TEST_F(MetalEngine, AStepThatFailsOnTheDeviceChangesNothingAndTheNextOneWorks) {
    const auto control = engine();
    ASSERT_NE(control, nullptr);
    ASSERT_TRUE(control->evaluate(part(0, 5)));
    const auto decoded = copy(*control->evaluate(part(5, 1)));
    const auto prompted = copy(*control->evaluate(part(6, 6)));

    const auto tried = engine();
    ASSERT_NE(tried, nullptr);
    ASSERT_TRUE(tried->evaluate(part(0, 5)));
    for (const auto code : {MTL::CommandBufferErrorInternal, MTL::CommandBufferErrorTimeout,
                            MTL::CommandBufferErrorPageFault, MTL::CommandBufferErrorOutOfMemory}) {
        softmetal::fail_next_command_buffer(device.get(), code);
        const auto failed = tried->evaluate(part(5, 1));
        ASSERT_FALSE(failed);
        EXPECT_THAT(failed.error().what, HasSubstr("rms_norm")) << "the last dispatches";
        EXPECT_EQ(tried->n_past(), 5u);
    }
    EXPECT_EQ(copy(*tried->evaluate(part(5, 1))), decoded);
    // A prompt of two graphs whose first one fails.
    softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorInternal);
    ASSERT_FALSE(tried->evaluate(part(6, 6)));
    EXPECT_EQ(tried->n_past(), 6u);
    EXPECT_EQ(copy(*tried->evaluate(part(6, 6))), prompted);
}

TEST_F(MetalEngine, AHangEndsAtTheBoundAndTheNextStepWorks) {
    softmetal::set_checks(device.get(), softmetal::Checks::Off);  // steps far below the bound
    const auto hung = engine({.submit_bound_seconds = 1});
    ASSERT_NE(hung, nullptr);
    ASSERT_TRUE(hung->evaluate(part(0, 5)));
    softmetal::hang_next_command_buffer(device.get(), 1.5);
    const auto failed = hung->evaluate(part(5, 1));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::Timeout);
    EXPECT_EQ(hung->n_past(), 5u);
    const auto got = hung->evaluate(part(5, 1));
    ASSERT_TRUE(got) << got.error().what;
    const auto decoded = copy(*got);

    const auto control = engine();
    ASSERT_NE(control, nullptr);
    ASSERT_TRUE(control->evaluate(part(0, 5)));
    EXPECT_EQ(copy(*control->evaluate(part(5, 1))), decoded);
}

TEST_F(MetalEngine, ARefusedAllocationIsAnErrorAndNotAReasonForTheCpu) {
    // However far into loading: weights, cache, activations.
    size_t refused = 0;
    for (uint64_t nth = 1; nth < 400; ++nth) {
        backends.clear();
        auto backend = make_metal_backend();
        ASSERT_TRUE(backend) << backend.error().what;
        backends.push_back(*std::move(backend));
        softmetal::refuse_allocation(device.get(), nth);
        const auto made = Engine::create(tiny.model, {backends.back().get(), cpu.get()},
                                         {.n_ctx = 32, .n_ubatch = 4});
        if (made) break;
        ++refused;
        EXPECT_EQ(made.error().fault, Fault::OutOfMemory) << made.error().what;
    }
    softmetal::refuse_allocation(device.get(), 0);
    EXPECT_GT(refused, 4u);
    const auto made = create();
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_TRUE((*made)->offload().on_device());
    EXPECT_TRUE((*made)->evaluate(part(0, 5)));
}

TEST_F(MetalEngine, ADecodedTokenAddsNoBuffer) {
    const auto one = engine();
    ASSERT_NE(one, nullptr);
    ASSERT_TRUE(one->evaluate(part(0, 5)));
    ASSERT_TRUE(one->evaluate(part(5, 1)));
    const auto& metal = *backends.back();
    const auto count = metal.pool_count(), bytes = metal.pool_bytes();
    for (size_t i = 6; i < 12; ++i) ASSERT_TRUE(one->evaluate(part(i, 1)));
    EXPECT_EQ(metal.pool_count(), count);
    EXPECT_EQ(metal.pool_bytes(), bytes);
}

}  // namespace
}  // namespace minfer
