// What a cache of any format answers does not depend on how it was filled. On the CPU, bit for bit.

#include <gtest/gtest.h>

#include "support/tiny_engine.h"

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

INSTANTIATE_TEST_SUITE_P(Formats, CacheOf, testing::Values(KvFormat::F32),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace minfer
