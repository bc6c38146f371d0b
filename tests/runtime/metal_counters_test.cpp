// What a decoded token costs the host: command buffers, dispatches and barriers, against sums that
// follow from the operations of a block.

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "runtime/engine.h"
#include "support/tiny_model.h"

namespace minfer {
namespace {

// Outside the blocks: the embedding, the last norm, the head.
constexpr size_t kOutside = 3;

// Of a block whose nodes are fused. Both: norm, projection; attention in chunks and their
// combination, its output projection and residual; norm, gate and up together, their activation,
// down and its residual.
constexpr size_t kFusedCommon = 2 + 4 + 5;
constexpr size_t kFusedQwen2 = kFusedCommon + 1;  // bias, rotation and store in one
constexpr size_t kFusedQwen3 = kFusedCommon + 3;  // norms of q and k; rotation and store in one

// Of a block as it is. Both: norm, three projections; two rotations, two stores; attention in
// chunks and their combination, its output projection and residual; norm, gate, up, their
// activation, down and its residual.
constexpr size_t kPlainCommon = 4 + 4 + 4 + 6;
constexpr size_t kPlainQwen2 = kPlainCommon + 3;  // biases
constexpr size_t kPlainQwen3 = kPlainCommon + 2;  // norms of q and k

static_assert(kFusedQwen3 == 14 && kFusedQwen2 == 12);
static_assert(11 * kFusedQwen3 + kOutside == 157, "the bundled story model");
static_assert(24 * kFusedQwen2 + kOutside == 291, "Qwen2.5-0.5B");

struct Case {
    std::string_view name, shape;
    EngineOptions options;
    size_t of_a_block;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class MetalTokenCounters : public testing::TestWithParam<Case> {};

TEST_P(MetalTokenCounters, AreWhatTheOperationsOfABlockAddUpTo) {
    auto tiny = TinyModel(GetParam().shape, DType::Q8_0);
    if (GetParam().options.concat_weights) {
        ASSERT_TRUE(tiny.model.join_weights(true, true));
    }
    const auto n_layer = tiny.model.hparams().n_layer;
    const auto metal = make_metal_backend();
    ASSERT_TRUE(metal) << metal.error().what;
    const auto cpu = make_cpu_backend();
    auto options = GetParam().options;
    options.n_ctx = 32;
    const auto engine = Engine::create(tiny.model, {metal->get(), cpu.get()}, options);
    ASSERT_TRUE(engine) << engine.error().what;
    const auto prompt = std::vector<TokenId>{TokenId{5}, TokenId{99}, TokenId{7}};
    ASSERT_TRUE((*engine)->evaluate(prompt));
    for (int step = 0; step < 3; ++step) {
        const auto before = (*metal)->counters();
        ASSERT_TRUE((*engine)->evaluate(std::span(prompt).first(1)));
        const auto after = (*metal)->counters();
        EXPECT_EQ(after.command_buffers - before.command_buffers, 1u);
        EXPECT_EQ(after.dispatches - before.dispatches, n_layer * GetParam().of_a_block + kOutside);
        EXPECT_EQ(after.barriers - before.barriers, after.dispatches - before.dispatches)
            << "one after every dispatch";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Models, MetalTokenCounters,
    testing::Values(
        Case{"qwen2_fused", "tiny-qwen2", {}, kFusedQwen2},
        Case{"qwen2_joined", "tiny-qwen2", {.concat_weights = true}, kFusedQwen2},
        Case{"qwen2_unfused", "tiny-qwen2", {.fuse_qkv = false, .fuse_ffn = false}, kPlainQwen2},
        Case{"qwen2_fused_qkv", "tiny-qwen2", {.fuse_ffn = false}, kFusedQwen2 + 1},
        Case{"qwen3_fused", "tiny-qwen3", {}, kFusedQwen3},
        Case{"qwen3_joined", "tiny-qwen3", {.concat_weights = true}, kFusedQwen3},
        Case{"qwen3_unfused", "tiny-qwen3", {.fuse_qkv = false, .fuse_ffn = false}, kPlainQwen3},
        Case{"qwen3_fused_ffn", "tiny-qwen3", {.fuse_qkv = false}, kPlainQwen3 - 1}),
    [](const auto& info) { return std::string(info.param.name); });

// A step of several sequences: plain nodes, attention by tiles of given windows and their tail.
TEST(MetalStepCounters, DoNotGrowWithTheNumberOfSequences) {
    const auto tiny = TinyModel("tiny-qwen3", DType::Q8_0);
    const auto metal = make_metal_backend();
    ASSERT_TRUE(metal) << metal.error().what;
    const auto cpu = make_cpu_backend();
    const auto engine =
        Engine::create(tiny.model, {metal->get(), cpu.get()}, {.n_ctx = 512, .n_ubatch = 64});
    ASSERT_TRUE(engine) << engine.error().what;
    const auto prompt = std::vector<TokenId>{TokenId{5}, TokenId{99}, TokenId{7}};
    std::vector<BatchPart> parts;
    for (uint32_t seq = 0; seq < 16; ++seq) {
        ASSERT_TRUE((*engine)->cache().reserve(SeqId{seq}, 8));
        ASSERT_TRUE((*engine)->evaluate(SeqId{seq}, prompt));
        parts.push_back({.seq = SeqId{seq}, .tokens = std::span(prompt).first(1)});
    }
    for (const size_t n : {2, 4, 16}) {
        const auto before = (*metal)->counters();
        ASSERT_TRUE((*engine)->step(std::span(parts).first(n)));
        const auto after = (*metal)->counters();
        EXPECT_EQ(after.command_buffers - before.command_buffers, 1u);
        EXPECT_EQ(after.dispatches - before.dispatches, 2 * kPlainQwen3 + kOutside) << n;
    }
}

}  // namespace
}  // namespace minfer
