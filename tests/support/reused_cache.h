#pragma once
// What a longer prompt left in buffers and cells must not show in what follows.

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "runtime/engine.h"

namespace minfer::test {

// `start` makes an engine that takes at least 160 tokens; the answers of one that is used again are
// held to those of a new one, bit for bit: of prompts of several lengths and of steps after them.
void expect_like_a_fresh_cache(const auto& start) {
    const auto tokens = [](size_t count, size_t seed) {
        auto ids = std::vector<TokenId>();
        for (size_t i = 0; i < count; ++i)
            ids.push_back(static_cast<TokenId>((i * 37 + seed) % 250));
        return ids;
    };
    const auto answer = [](auto& engine, std::span<const TokenId> ids, size_t n_out) {
        const auto logits = engine->evaluate(ids, n_out);
        EXPECT_TRUE(logits) << logits.error().what;
        return logits ? std::vector(logits->begin(), logits->end()) : std::vector<float>();
    };
    const auto longest = tokens(150, 11);
    auto reused = start();
    for (const size_t length : {1, 3, 4, 7, 33, 70}) {
        SCOPED_TRACE(fmt::format("{} tokens", length));
        answer(reused, longest, 1);
        for (size_t i = 0; i < 3; ++i) answer(reused, std::span(longest).subspan(i, 1), 1);
        reused->truncate(0);
        auto fresh = start();
        const auto ids = tokens(length + 3, 100);
        const auto prompt = std::span(ids).first(length);
        EXPECT_EQ(answer(reused, prompt, length), answer(fresh, prompt, length));
        for (size_t i = length; i < ids.size(); ++i) {
            const auto next = std::span(ids).subspan(i, 1);
            EXPECT_EQ(answer(reused, next, 1), answer(fresh, next, 1)) << "step " << i - length;
        }
        reused->truncate(0);
    }
}

}  // namespace minfer::test
