// A text many times longer than the context, on the story model: after every shift the model reads
// on about as well as one that never had to forget, and much better than with keys left unturned.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "model/vocab.h"
#include "runtime/context_shift.h"
#include "runtime/engine.h"

namespace minfer::test {
namespace {

struct LongChat : testing::TestWithParam<KvFormat> {
    Model model = [] {
        auto loaded = Model::load(MINFER_STORY_MODEL);
        MINFER_ASSERT(loaded);
        return *std::move(loaded);
    }();
    std::unique_ptr<CpuBackend> backend = make_cpu_backend({.threads = 2});

    std::unique_ptr<Engine> make(size_t n_ctx) {
        auto made =
            Engine::create(model, {backend.get()}, {.n_ctx = n_ctx, .kv_format = GetParam()});
        MINFER_ASSERT(made);
        return *std::move(made);
    }

    // The model's own greedy story, so that every token has a likely successor.
    std::vector<TokenId> story(size_t n_tokens) {
        const auto tokenizer = *read_tokenizer(model.file().metadata());
        auto tokens = tokenizer.encode("Once upon a time, there was a little girl named Lily.");
        const auto whole = make(n_tokens);
        auto next = std::span<const TokenId>(tokens);
        while (tokens.size() < n_tokens) {
            const auto logits = *whole->evaluate(next);
            auto best = TokenId{};
            for (size_t i = 0; i < std::min(logits.size(), tokenizer.size()); ++i)
                if (!tokenizer.is_end(static_cast<TokenId>(i)) &&
                    logits[i] > logits[static_cast<size_t>(best)])
                    best = static_cast<TokenId>(i);
            tokens.push_back(best);
            next = std::span(tokens).last(1);
        }
        return tokens;
    }

    // Mean of -log p(next token) from token `from` on; `make_room` is called with a full context.
    double surprise(Engine& engine, const std::vector<TokenId>& tokens, size_t from,
                    const std::function<void(Engine&)>& make_room) {
        double sum = 0;
        for (size_t i = 0; i + 1 < tokens.size(); ++i) {
            if (engine.n_past() == engine.n_ctx()) make_room(engine);
            const auto logits = *engine.evaluate(std::span(tokens).subspan(i, 1));
            if (i < from) continue;
            const double largest = *std::ranges::max_element(logits);
            double total = 0;
            for (const double logit : logits) total += std::exp(logit - largest);
            sum += largest + std::log(total) - logits[static_cast<size_t>(tokens[i + 1])];
        }
        return sum / static_cast<double>(tokens.size() - 1 - from);
    }
};

TEST_P(LongChat, StaysCoherentOverSeveralShifts) {
    constexpr size_t kKeep = 8, kContext = 96, kTokens = 400;
    const auto tokens = story(kTokens);
    size_t shifts = 0;
    const auto whole = make(kTokens), shifted = make(kContext), unturned = make(kContext);
    const auto never = surprise(*whole, tokens, kContext, [](Engine&) { FAIL(); });
    const auto often = surprise(*shifted, tokens, kContext, [&](Engine& each) {
        ASSERT_TRUE(shift_context(each.cache(), kMainSequence, kKeep));
        ++shifts;
    });
    // The control moves the same rows and leaves the keys as they were.
    const auto wrong = surprise(*unturned, tokens, kContext, [&](Engine& each) {
        auto& cache = each.cache();
        const auto from = kKeep + shift_rows(each.n_past(), kKeep);
        auto keys = std::vector<std::vector<std::byte>>(
            cache.n_layer(),
            std::vector<std::byte>((each.n_past() - from) * cache.layout().row_bytes));
        for (size_t layer = 0; layer < keys.size(); ++layer)
            ASSERT_TRUE(cache.read(layer, KvCache::Part::Keys, from, keys[layer]));
        ASSERT_TRUE(shift_context(cache, kMainSequence, kKeep));
        for (size_t layer = 0; layer < keys.size(); ++layer)
            ASSERT_TRUE(cache.write(layer, KvCache::Part::Keys, kKeep, keys[layer]));
    });
    EXPECT_GE(shifts, 5u);
    RecordProperty("never", fmt::format("{:.3f}", never));
    RecordProperty("often", fmt::format("{:.3f}", often));
    RecordProperty("wrong", fmt::format("{:.3f}", wrong));
    EXPECT_LE(often, never + 0.4);
    EXPECT_GE(wrong, often + 0.8);
}

INSTANTIATE_TEST_SUITE_P(Formats, LongChat,
                         testing::Values(KvFormat::F32, KvFormat::F16, KvFormat::Q8_0),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace minfer::test
