// What a cache of any format answers does not depend on how it was filled. On the CPU, bit for bit.
// And how far formats are apart.

#include <gtest/gtest.h>

#include "model/vocab.h"
#include "support/nmse.h"
#include "support/tiny_engine.h"
#include "support/tolerances.h"

namespace minfer {
namespace {

std::vector<TokenId> some_tokens(size_t count, size_t seed = 11) {
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<TokenId>((i * 37 + seed) % 250));
    return tokens;
}

struct CacheOf : testing::TestWithParam<KvFormat> {
    EngineOptions options(size_t n_ubatch) const {
        return {.n_ctx = 256, .n_ubatch = n_ubatch, .kv_format = GetParam()};
    }
};

std::vector<float> answer(Engine& engine, std::span<const TokenId> tokens, size_t n_out) {
    const auto logits = engine.evaluate(tokens, n_out);
    if (!logits) {
        ADD_FAILURE() << logits.error().what;
        return {};
    }
    return {logits->begin(), logits->end()};
}

TEST_P(CacheOf, a_chunked_prefill_answers_like_an_unchunked_one) {
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"}) {
        const TinyEngine whole(shape, DType::Q8_0, options(256));
        EXPECT_EQ(whole.engine().kv_format(), GetParam());
        for (const size_t n_tokens : {64, 65, 128, 129, 200}) {
            const auto tokens = some_tokens(n_tokens);
            whole.engine().truncate(0);
            const auto want = answer(whole.engine(), tokens, 9);
            for (const size_t chunk : {1, 7, 64}) {
                const TinyEngine pieces(shape, DType::Q8_0, options(chunk));
                EXPECT_EQ(answer(pieces.engine(), tokens, 9), want)
                    << shape << ", " << n_tokens << " tokens in chunks of " << chunk;
            }
        }
    }
}

// Cells keep what a longer prompt left in them.
TEST_P(CacheOf, reused_cache_across_prompts_matches_a_fresh_cache) {
    const auto first = some_tokens(150);
    for (const size_t n_ubatch : {4, 256}) {
        const TinyEngine reused("tiny-qwen3", DType::Q8_0, options(n_ubatch));
        for (const size_t length : {1, 3, 33, 70}) {
            reused.engine().truncate(0);
            answer(reused.engine(), first, 1);
            reused.engine().truncate(0);
            const TinyEngine fresh("tiny-qwen3", DType::Q8_0, options(n_ubatch));
            const auto tokens = some_tokens(length + 3, 100);
            const auto prompt = std::span(tokens).first(length);
            EXPECT_EQ(answer(reused.engine(), prompt, length),
                      answer(fresh.engine(), prompt, length));
            for (size_t i = length; i < tokens.size(); ++i) {
                const auto next = std::span(tokens).subspan(i, 1);
                EXPECT_EQ(answer(reused.engine(), next, 1), answer(fresh.engine(), next, 1));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, CacheOf,
                         testing::Values(KvFormat::F32, KvFormat::F16, KvFormat::Q8_0),
                         [](const auto& info) { return std::string(name(info.param)); });

// Logits of every token of a story, in exact mode.
std::vector<float> story_logits(const Model& model, KvFormat format) {
    const auto tokenizer = read_tokenizer(model.file().metadata());
    MINFER_ASSERT(tokenizer);
    const auto tokens = tokenizer->encode(
        "Once upon a time there was a little fox who lived at the edge of a big forest. Every "
        "morning she ran down to the river to see her friend, a very old frog. \"Tell me a "
        "story,\" "
        "said the fox. The frog looked at the water for a long time.");
    EXPECT_GT(tokens.size(), 50u);
    auto cpu = make_cpu_backend({.activations = CpuActivations::F32});
    const auto engine = Engine::create(model, {cpu.get()}, {.n_ctx = 128, .kv_format = format});
    MINFER_ASSERT(engine);
    return answer(**engine, tokens, tokens.size());
}

TEST(CacheFormats, LogitsOfTheStoryModelDifferFromThoseOverF32ByTheirClass) {
    const auto model = Model::load(MINFER_STORY_MODEL);
    ASSERT_TRUE(model) << model.error().what;
    const auto f32 = story_logits(*model, KvFormat::F32);
    const auto f16 = test::nmse(story_logits(*model, KvFormat::F16), f32);
    const auto q8_0 = test::nmse(story_logits(*model, KvFormat::Q8_0), f32);
    EXPECT_LE(f16, test::kLogitsF16CellsBar);
    EXPECT_LE(q8_0, test::kLogitsQ8_0CellsBar);
    // They were other cells at all.
    EXPECT_GT(f16, test::kLogitsF16CellsBar / 1e3);
    EXPECT_GT(q8_0, test::kLogitsQ8_0CellsBar / 1e3);
}

}  // namespace
}  // namespace minfer
