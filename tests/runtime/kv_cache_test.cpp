// What a cache of any format answers does not depend on how it was filled. On the CPU, bit for bit.
// And how far formats are apart.

#include <gtest/gtest.h>

#include "model/vocab.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/reused_cache.h"
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

TEST_P(CacheOf, reused_cache_across_prompts_matches_a_fresh_cache) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    auto cpu = make_cpu_backend({});
    for (const size_t n_ubatch : {4, 256})
        test::expect_like_a_fresh_cache([&] {
            auto engine = Engine::create(tiny.model, {cpu.get()}, options(n_ubatch));
            MINFER_ASSERT(engine);
            return *std::move(engine);
        });
}

INSTANTIATE_TEST_SUITE_P(Formats, CacheOf, testing::ValuesIn(test::kKvFormats),
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
    EXPECT_LE(f16, test::rounded_cells_bar(KvFormat::F16));
    EXPECT_LE(q8_0, test::rounded_cells_bar(KvFormat::Q8_0));
    // They were other cells at all.
    EXPECT_GT(f16, test::rounded_cells_bar(KvFormat::F16) / 1e3);
    EXPECT_GT(q8_0, test::rounded_cells_bar(KvFormat::Q8_0) / 1e3);
}

}  // namespace
}  // namespace minfer
