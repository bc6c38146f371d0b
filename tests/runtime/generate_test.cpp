#include "runtime/generate.h"

#include <gtest/gtest.h>

#include "model/vocab.h"
#include "support/tiny_engine.h"

namespace minfer {
namespace {

struct Fixture {
    TinyEngine tiny{"tiny-qwen3", DType::F32, {.n_ctx = 64}};
    Tokenizer tokenizer = *read_tokenizer(tiny.model().file().metadata());
    std::string text;

    Result<Generation> run(const GenerateOptions& options,
                           SamplerOptions sampling = {.temperature = 0},
                           std::function<bool()> cancelled = {}) {
        tiny.engine().truncate(0);
        text.clear();
        const auto prompt = tokenizer.encode("hello there");
        return generate(tiny.engine(), tokenizer, sampling, prompt, options,
                        {.on_text = [&](std::string_view piece) { text += piece; },
                         .cancelled = std::move(cancelled)});
    }
};

TEST(Generate, StopsAtTheTokenLimit) {
    Fixture f;
    const auto result = f.run({.max_tokens = 5, .ignore_eos = true});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->tokens.size(), 5u);
    EXPECT_EQ(result->reason, StopReason::TokenLimit);
    // The last token was not evaluated: nothing needed its logits.
    EXPECT_EQ(f.tiny.engine().n_past(), result->n_prompt + 4);
}

TEST(Generate, ZeroTokensOnlyEvaluatesThePrompt) {
    Fixture f;
    const auto result = f.run({.max_tokens = 0});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_TRUE(result->tokens.empty());
    EXPECT_EQ(f.tiny.engine().n_past(), result->n_prompt);
}

TEST(Generate, FillsTheContextAndSaysSo) {
    Fixture f;
    const auto result = f.run({.ignore_eos = true});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->reason, StopReason::ContextFull);
    EXPECT_EQ(f.tiny.engine().n_past(), 64u);
}

// Every shift forgets half of what is not kept, and evaluates nothing again.
TEST(Generate, GoesOnPastTheContextWhenToldTo) {
    Fixture f;
    const auto prompt = f.tokenizer.encode("hello there");
    const auto result = f.run({.max_tokens = 200, .ignore_eos = true, .shift_keep = 4});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->reason, StopReason::TokenLimit);
    EXPECT_EQ(result->tokens.size(), 200u);
    const auto evaluated = result->n_prompt + 199;
    EXPECT_EQ(f.tiny.engine().n_past(), evaluated - result->n_shifted);
    EXPECT_EQ(f.tiny.engine().counters().builds + f.tiny.engine().counters().reuses, 3 + 199u)
        << "at load a token and a full prompt, then this prompt";
    EXPECT_EQ(result->n_shifted % 30, 0u);
    const auto& known = f.tiny.engine().cache().tokens().at(kMainSequence);
    EXPECT_EQ(std::vector(known.ids.begin(), known.ids.begin() + 4),
              std::vector(prompt.begin(), prompt.begin() + 4));
    EXPECT_EQ(known.ids.back(), result->tokens[198]);
    EXPECT_EQ(known.exact, 4u);
}

TEST(Generate, AnEndTokenIsNeitherPrintedNorCounted) {
    Fixture f;
    const auto end = *f.tokenizer.eos();
    const auto result = f.run({}, {.temperature = 0, .logit_bias = {{end, 1e6f}}});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->reason, StopReason::EndToken);
    EXPECT_TRUE(result->tokens.empty());
    EXPECT_EQ(f.text, "");
}

TEST(Generate, StopStringsCutTheText) {
    Fixture f;
    const auto force = [&](std::string_view byte) {
        return SamplerOptions{
            .temperature = 0, .repeat_penalty = 1, .logit_bias = {{*f.tokenizer.find(byte), 1e6f}}};
    };
    const auto result = f.run({.max_tokens = 20, .stop = {"zzz"}}, force("z"));
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->reason, StopReason::StopString);
    EXPECT_EQ(result->tokens.size(), 3u);
    EXPECT_EQ(f.text, "");
}

TEST(Generate, AnUnfinishedCharacterAtTheEndIsDropped) {
    Fixture f;
    const auto lead = *f.tokenizer.find("\xe2");
    const auto result = f.run({.max_tokens = 1}, {.temperature = 0, .logit_bias = {{lead, 1e6f}}});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->tokens.size(), 1u);
    EXPECT_EQ(f.text, "");
}

TEST(Generate, CancellingIsAReasonAndNotAnError) {
    Fixture f;
    int asked = 0;
    const auto result =
        f.run({.ignore_eos = true}, {.temperature = 0}, [&] { return ++asked > 3; });
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->reason, StopReason::Cancelled);
    EXPECT_EQ(result->tokens.size(), 3u);
}

TEST(Generate, ACancelledPromptCountsWhatWasEvaluated) {
    Fixture f;
    auto tiny = TinyEngine("tiny-qwen3", DType::F32, {.n_ctx = 64, .n_ubatch = 2});
    const auto prompt = f.tokenizer.encode("hello there");
    ASSERT_GT(prompt.size(), 4u);
    int asked = 0;
    const auto result = generate(tiny.engine(), f.tokenizer, {}, prompt, {},
                                 {.cancelled = [&] { return ++asked == 2; }});
    ASSERT_TRUE(result) << result.error().what;
    EXPECT_EQ(result->reason, StopReason::Cancelled);
    EXPECT_EQ(result->n_prompt, prompt.size());
    EXPECT_EQ(result->n_prompt_done, 4u);
    const auto whole = f.run({.max_tokens = 0});
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->n_prompt_done, whole->n_prompt);
}

TEST(Generate, TheSameSeedGivesTheSameText) {
    Fixture f;
    const auto a = f.run({.max_tokens = 30, .ignore_eos = true}, {.seed = 5});
    const auto b = f.run({.max_tokens = 30, .ignore_eos = true}, {.seed = 5});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->tokens, b->tokens);
}

}  // namespace
}  // namespace minfer
