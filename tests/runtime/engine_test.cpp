#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes_text.h"
#include "support/tiny_engine.h"

namespace minfer {
namespace {

std::vector<TokenId> some_tokens(size_t count) {
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((i * 37 + 11) % 250));
    return tokens;
}

std::vector<float> copy(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

TEST(Engine, PrefillInPiecesEqualsPrefillInOneBitwise) {
    const auto tokens = some_tokens(50);
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"})
        for (const auto type : {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0,
                                DType::Q4_K, DType::Q6_K})
            for (const auto activations : {CpuActivations::Quantized, CpuActivations::F32}) {
                const TinyEngine whole(shape, type, {.n_ctx = 64}, activations);
                const auto want = copy(*whole.engine().evaluate(tokens, tokens.size()));
                for (const size_t chunk : {size_t{1}, size_t{7}, size_t{32}}) {
                    const TinyEngine pieces(shape, type, {.n_ctx = 64, .n_ubatch = chunk},
                                            activations);
                    EXPECT_EQ(copy(*pieces.engine().evaluate(tokens, tokens.size())), want)
                        << shape << ' ' << name(type) << " in chunks of " << chunk;
                    EXPECT_EQ(pieces.engine().n_past(), tokens.size());
                }
            }
}

TEST(Engine, LastRowsEqualTheRowsOfAllLogits) {
    const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 64});
    const auto tokens = some_tokens(20);
    const auto n_vocab = tiny.model().hparams().n_vocab;
    const auto all = copy(*tiny.engine().evaluate(tokens, 20));
    for (const size_t n_out : {size_t{1}, size_t{3}}) {
        tiny.engine().truncate(0);
        EXPECT_EQ(
            copy(*tiny.engine().evaluate(tokens, n_out)),
            std::vector<float>(all.end() - static_cast<ptrdiff_t>(n_out * n_vocab), all.end()));
    }
}

TEST(Engine, TruncateForgetsExactlyTheTail) {
    const TinyEngine tiny("tiny-qwen2", DType::F32, {.n_ctx = 64});
    const auto tokens = some_tokens(30);
    const auto want = copy(*tiny.engine().evaluate(tokens));
    tiny.engine().truncate(10);
    EXPECT_EQ(copy(*tiny.engine().evaluate(std::span(tokens).subspan(10))), want);
}

TEST(Engine, ThreadsDoNotChangeABit) {
    const auto tokens = some_tokens(33);
    for (const auto type : {DType::F32, DType::Q4_0, DType::Q5_K}) {
        const TinyEngine one("tiny-qwen3", type, {.n_ctx = 64}, CpuActivations::Quantized, 1);
        const TinyEngine three("tiny-qwen3", type, {.n_ctx = 64}, CpuActivations::Quantized, 3);
        EXPECT_EQ(copy(*one.engine().evaluate(tokens, 33)),
                  copy(*three.engine().evaluate(tokens, 33)));
    }
}

TEST(Engine, DecodingBuildsNothingAfterTheFirstStep) {
    const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 64});
    const auto tokens = some_tokens(40);
    ASSERT_TRUE(tiny.engine().evaluate(std::span(tokens).first(8)));
    ASSERT_TRUE(tiny.engine().evaluate(std::span(tokens).subspan(8, 1)));
    const auto before = tiny.engine().counters();
    for (size_t i = 9; i < 40; ++i)
        ASSERT_TRUE(tiny.engine().evaluate(std::span(tokens).subspan(i, 1)));
    const auto after = tiny.engine().counters();
    EXPECT_EQ(after.builds, before.builds);
    EXPECT_EQ(after.remaps, before.remaps);
}

TEST(Engine, RefusalsNameTheNumbersAndChangeNothing) {
    const TinyEngine tiny("tiny-qwen2", DType::F32, {.n_ctx = 16});
    auto& engine = tiny.engine();
    const auto tokens = some_tokens(20);
    const auto expect_refusal = [&](const Result<std::span<const float>>& result,
                                    std::string_view part) {
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().what, testing::HasSubstr(part));
    };
    ASSERT_TRUE(engine.evaluate(std::span(tokens).first(10)));
    expect_refusal(engine.evaluate(std::span(tokens).first(7)),
                   "7 tokens after the 10 already evaluated do not fit its room for 16");
    expect_refusal(engine.evaluate(std::span(tokens).first(2), 3),
                   "3 rows of logits wanted of 2 tokens");
    expect_refusal(engine.evaluate({}, 1), "1 rows of logits wanted of 0 tokens");
    const auto bad = static_cast<TokenId>(384);
    expect_refusal(engine.evaluate(std::span(&bad, 1)), "token id 384, allowed are ids below 384");
    EXPECT_EQ(engine.n_past(), 10u);
    EXPECT_TRUE(engine.evaluate(std::span(tokens).first(6)));
}

TEST(Engine, RefusesAKvArenaAboveTheBudgetBeforeAllocating) {
    const TinyEngine tiny("tiny-qwen3", DType::F32, {.n_ctx = 8});
    const auto& hp = tiny.model().hparams();
    const auto token_bytes = 2 * hp.n_layer * hp.kv_width() * sizeof(float);
    const auto create = [&](size_t n_ctx, size_t budget) {
        const auto backend = make_cpu_backend({.threads = 1});
        const auto engine = Engine::create(tiny.model(), {backend.get()},
                                           {.n_ctx = n_ctx, .memory_budget_bytes = budget});
        return engine ? std::string() : engine.error().what;
    };
    EXPECT_EQ(create(10, 10 * token_bytes), "");
    EXPECT_EQ(create(11, 11 * token_bytes - 1),
              fmt::format("the f32 KV cache for a context of 11 tokens needs {}, {} are there; the "
                          "largest context that fits is 10",
                          bytes_text(11 * token_bytes), bytes_text(11 * token_bytes - 1)));
    // Nothing of this size could be allocated: the refusal came first, and the product is checked.
    EXPECT_THAT(create(size_t{1} << 40, size_t{1} << 30),
                testing::HasSubstr(fmt::format("1.00 GiB are there; the largest context that fits "
                                               "is {}",
                                               (size_t{1} << 30) / token_bytes)));
    EXPECT_THAT(create(SIZE_MAX, size_t{1} << 30), testing::HasSubstr("needs more than "));
}

TEST(Engine, CancellingKeepsFinishedPieces) {
    const TinyEngine tiny("tiny-qwen2", DType::F32, {.n_ctx = 64, .n_ubatch = 8});
    const auto result =
        tiny.engine().evaluate(some_tokens(30), 1, [](size_t done) { return done < 16; });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::Cancelled);
    EXPECT_EQ(tiny.engine().n_past(), 16u);
}

}  // namespace
}  // namespace minfer
