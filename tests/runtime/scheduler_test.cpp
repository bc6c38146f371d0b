// Several requests over one engine: what each is answered is what it would be answered alone.
#include "runtime/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/fake_backend.h"
#include "support/small_model.h"
#include "support/tiny_engine.h"

namespace minfer {
namespace {

std::vector<TokenId> some_tokens(size_t count, size_t seed) {
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<TokenId>((i * 37 + seed * 11 + i * i * seed) % 250));
    return tokens;
}

TokenId best(std::span<const float> logits) {
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

struct Answer {
    std::vector<std::vector<float>> logits;
    std::vector<TokenId> tokens;
    std::optional<Result<RequestResult>> result;

    size_t n_reused() const { return (*result)->n_reused; }
    RequestEnd end() const { return (*result)->end; }
};

// Greedy requests and what they were answered.
struct Client {
    Scheduler& scheduler;
    std::map<size_t, Answer> answers = {};

    RequestId ask(size_t name, std::vector<TokenId> prompt, size_t max_tokens = 8) {
        auto& answer = answers[name];
        answer = {};
        const auto id = scheduler.submit(
            {.prompt = std::move(prompt),
             .max_tokens = max_tokens,
             .next = [&answer](std::span<const float> logits) -> Result<std::optional<TokenId>> {
                 answer.logits.emplace_back(logits.begin(), logits.end());
                 answer.tokens.push_back(best(logits));
                 return answer.tokens.back();
             },
             .done = [&answer](const Result<RequestResult>& result) { answer.result = result; }});
        EXPECT_TRUE(id) << id.error().what;
        return id ? *id : RequestId{};
    }
    void run() {
        for (size_t i = 0; scheduler.step(); ++i) ASSERT_LT(i, 10000u) << "no end";
        for (const auto& [name, answer] : answers) EXPECT_TRUE(answer.result) << name;
    }
};

std::vector<std::vector<float>> alone(const std::vector<TokenId>& prompt, size_t n_tokens) {
    const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 256, .n_ubatch = 32});
    std::vector<std::vector<float>> rows;
    auto next = prompt;
    for (size_t i = 0; i < n_tokens; ++i) {
        const auto logits = tiny.engine().evaluate(next);
        EXPECT_TRUE(logits);
        rows.emplace_back(logits->begin(), logits->end());
        next = {best(*logits)};
    }
    return rows;
}

TEST(Scheduler, NeighboursChangeNoBitOfAnAnswer) {
    for (const bool batch : {true, false})
        for (const size_t n_slots : {1, 3, 8}) {
            const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 512, .n_ubatch = 32});
            auto scheduler =
                Scheduler(tiny.engine(), {.n_slots = n_slots, .prompt_chunk = 20, .batch = batch});
            auto client = Client{scheduler};
            for (size_t i = 0; i < 8; ++i) client.ask(i, some_tokens(1 + i * 9, i), 3 + i % 5);
            client.run();
            for (size_t i = 0; i < 8; ++i) {
                const auto& answer = client.answers[i];
                ASSERT_TRUE(*answer.result) << answer.result->error().what;
                EXPECT_EQ((*answer.result)->end, RequestEnd::TokenLimit);
                EXPECT_EQ((*answer.result)->n_generated, 3 + i % 5);
                EXPECT_EQ(answer.logits, alone(some_tokens(1 + i * 9, i), 3 + i % 5))
                    << "request " << i << " of " << n_slots << " at once";
            }
        }
}

TEST(Scheduler, BatchesUnlessToldNotTo) {
    const TinyEngine tiny("tiny-qwen3", DType::F32, {.n_ctx = 128});
    const auto graphs = [&](SchedulerOptions options) {
        const auto before = tiny.engine().counters();
        auto scheduler = Scheduler(tiny.engine(), options);
        auto client = Client{scheduler};
        for (size_t i = 0; i < 4; ++i) client.ask(i, some_tokens(5, i), 6);
        client.run();
        const auto after = tiny.engine().counters();
        return after.builds + after.reuses - before.builds - before.reuses;
    };
    EXPECT_EQ(graphs({.n_slots = 4, .reuse = false}), 6u);
    EXPECT_EQ(graphs({.n_slots = 4, .batch = false, .reuse = false}), 24u);
}

TEST(Scheduler, AReusedPrefixAnswersLikeAFreshOne) {
    for (const bool share : {true, false}) {
        const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 512, .n_ubatch = 32});
        auto scheduler = Scheduler(tiny.engine(), {.n_slots = 4, .batch = true, .share = share});
        auto client = Client{scheduler};
        const auto prefix = some_tokens(40, 3);
        const auto with = [&](size_t name) {
            auto prompt = prefix;
            const auto tail = some_tokens(4 + name, 50 + name);
            prompt.insert(prompt.end(), tail.begin(), tail.end());
            return prompt;
        };
        client.ask(0, with(0), 90);
        scheduler.step();
        scheduler.step();
        // Its first answer is still under way.
        for (size_t i = 1; i < 4; ++i) client.ask(i, with(i));
        client.run();
        for (size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(client.answers[i].n_reused(), i == 0 ? 0u : 40u);
            EXPECT_EQ(client.answers[i].logits, alone(with(i), i == 0 ? 90 : 8));
        }
        EXPECT_EQ(tiny.engine().cache().store().usage().shared > 0, share);

        // A conversation goes on in its own cells: all of it but the token never evaluated.
        auto next = with(0);
        const auto& said = client.answers[0].tokens;
        next.insert(next.end(), said.begin(), said.end());
        next.push_back(static_cast<TokenId>(7));
        client.ask(0, next);
        client.run();
        EXPECT_EQ(client.answers[0].n_reused(), next.size() - 2);
        EXPECT_EQ(client.answers[0].logits, alone(next, 8));

        // The same prompt again: its last token is evaluated all the same.
        client.ask(1, with(1));
        client.run();
        EXPECT_EQ(client.answers[1].n_reused(), with(1).size() - 1);
        EXPECT_EQ(client.answers[1].logits, alone(with(1), 8));
    }
}

TEST(Scheduler, WhatHadToLeaveTheArenaComesBackFromMemory) {
    for (const size_t saved_bytes : {size_t{0}, size_t{1} << 20}) {
        const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 64, .n_ubatch = 32});
        auto scheduler = Scheduler(tiny.engine(), {.n_slots = 2, .saved_bytes = saved_bytes});
        auto client = Client{scheduler};
        const auto first = some_tokens(30, 1);
        for (size_t i = 1; i <= 3; ++i) {
            client.ask(i, some_tokens(30, i), 8);
            client.run();
        }
        client.ask(1, first, 8);
        client.run();
        EXPECT_EQ(client.answers[1].n_reused(), saved_bytes ? 29u : 0u);
        EXPECT_EQ(client.answers[1].logits, alone(first, 8));
    }
}

TEST(Scheduler, AnswersGrowUntilTheArenaIsFull) {
    const TinyEngine tiny("tiny-qwen3", DType::F32, {.n_ctx = 64, .n_ubatch = 32});
    auto scheduler = Scheduler(tiny.engine(), {.n_slots = 4, .batch = true});
    auto client = Client{scheduler};
    client.ask(0, some_tokens(10, 1), SIZE_MAX);
    client.ask(1, some_tokens(12, 2), 4);
    client.run();
    EXPECT_EQ(client.answers[1].end(), RequestEnd::TokenLimit);
    EXPECT_EQ(client.answers[0].end(), RequestEnd::ContextFull);
    // All cells, and the token that no cell was left for.
    EXPECT_EQ(client.answers[0].tokens.size(), 64u - 10 + 1);
}

TEST(Scheduler, RequestsWaitForRoomAndNoneIsLost) {
    const TinyEngine tiny("tiny-qwen3", DType::F32, {.n_ctx = 64, .n_ubatch = 32});
    auto scheduler = Scheduler(tiny.engine(), {.n_slots = 8, .batch = true});
    auto client = Client{scheduler};
    for (size_t i = 0; i < 12; ++i) client.ask(i, some_tokens(20, i), 10);
    scheduler.step();
    EXPECT_EQ(scheduler.n_running(), 2u);
    EXPECT_EQ(scheduler.n_waiting(), 10u);
    client.run();
    for (const auto& [name, answer] : client.answers) {
        ASSERT_TRUE(*answer.result) << answer.result->error().what;
        EXPECT_EQ(answer.tokens.size(), 10u);
    }
}

TEST(Scheduler, CancelledRequestsEndAndDisturbNobody) {
    const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 256, .n_ubatch = 32});
    auto scheduler = Scheduler(tiny.engine(), {.n_slots = 2, .batch = true});
    auto client = Client{scheduler};
    client.ask(0, some_tokens(9, 1), 12);
    const auto running = client.ask(1, some_tokens(9, 2), 12);
    const auto waiting = client.ask(2, some_tokens(9, 3), 12);
    scheduler.step();
    scheduler.step();
    scheduler.cancel(running);
    scheduler.cancel(waiting);
    client.run();
    scheduler.cancel(running);  // ended before
    EXPECT_FALSE(scheduler.step());
    EXPECT_EQ(client.answers[1].end(), RequestEnd::Cancelled);
    EXPECT_EQ(client.answers[1].tokens.size(), 2u);
    EXPECT_EQ(client.answers[2].end(), RequestEnd::Cancelled);
    EXPECT_EQ(client.answers[0].logits, alone(some_tokens(9, 1), 12));
}

TEST(Scheduler, RefusesPromptsByTheirLength) {
    const TinyEngine tiny("tiny-qwen3", DType::F32, {.n_ctx = 16});
    auto scheduler = Scheduler(tiny.engine(), {});
    for (const size_t n : {size_t{0}, size_t{16}}) {
        const auto refused = scheduler.submit({.prompt = some_tokens(n, 1)});
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().what,
                    testing::HasSubstr("at least 1 and at most 15 are allowed"));
    }
    auto client = Client{scheduler};
    client.ask(0, some_tokens(15, 1), 0);
    client.run();
    EXPECT_EQ(client.answers[0].end(), RequestEnd::TokenLimit);
    EXPECT_TRUE(client.answers[0].tokens.empty());
}

TEST(Scheduler, AnErrorOfOneRequestIsItsOwn) {
    const TinyEngine tiny("tiny-qwen3", DType::Q8_0, {.n_ctx = 256, .n_ubatch = 32});
    auto scheduler = Scheduler(tiny.engine(), {.n_slots = 2, .batch = true});
    auto client = Client{scheduler};
    client.ask(0, some_tokens(9, 1), 12);
    std::optional<Result<RequestResult>> failed;
    ASSERT_TRUE(
        scheduler.submit({.prompt = some_tokens(5, 2),
                          .next = [](auto) -> Result<std::optional<TokenId>> {
                              return fail(Fault::BadInput, "no token is allowed");
                          },
                          .done = [&](const Result<RequestResult>& result) { failed = result; }}));
    client.run();
    ASSERT_TRUE(failed && !*failed);
    EXPECT_EQ(failed->error().what, "no token is allowed");
    EXPECT_EQ(client.answers[0].logits, alone(some_tokens(9, 1), 12));
}

// Sixteen answers under way leave a prompt its part of every step.
TEST(Scheduler, AnswersDoNotKeepAPromptWaiting) {
    const TinyEngine tiny("tiny-qwen3", DType::F32, {.n_ctx = 512, .n_ubatch = 4});
    auto scheduler = Scheduler(tiny.engine(), {.n_slots = 8, .prompt_chunk = 4});
    auto client = Client{scheduler};
    for (size_t i = 0; i < 6; ++i) client.ask(i, some_tokens(2, i), 40);
    for (size_t i = 0; i < 12; ++i) scheduler.step();
    client.ask(6, some_tokens(5, 6), 1);
    for (size_t i = 0; i < 6; ++i) scheduler.step();
    EXPECT_TRUE(client.answers[6].result);
    EXPECT_FALSE(client.answers[0].result);
    client.run();
}

// Making room moves the rows of others. When that fails they are gone, and whoever had them is told
// so; all others and all later requests go on.
TEST(Scheduler, AFailedMoveEndsWhoeverLostCellsByIt) {
    const auto model = TinyModel(small_model_bytes());
    FakeBackend backend(BackendId::Cpu);
    auto made = Engine::create(model.model, {&backend}, {.n_ctx = 96, .n_ubatch = 16});
    ASSERT_TRUE(made) << made.error().what;
    auto scheduler = Scheduler(**made, {.n_slots = 3, .reuse = false});
    auto client = Client{scheduler};
    client.ask(0, some_tokens(9, 0), 4);  // its 13 cells come first
    client.ask(1, some_tokens(9, 1), SIZE_MAX);
    client.ask(2, some_tokens(8, 2), SIZE_MAX);
    client.ask(3, some_tokens(20, 3), 12);  // waits for a slot, and lies behind the others
    for (size_t i = 0; i < 10; ++i) scheduler.step();
    ASSERT_TRUE(client.answers[0].result);
    backend.fail_copies = true;
    while (!client.answers[1].result && scheduler.step());
    backend.fail_copies = false;
    ASSERT_TRUE(client.answers[1].result);
    EXPECT_FALSE(*client.answers[1].result);
    EXPECT_EQ(client.answers[1].result->error().fault, Fault::Device);
    client.ask(4, some_tokens(9, 4), 3);
    client.run();
    EXPECT_TRUE(*client.answers[4].result);
    size_t lost = 0;
    for (const auto& [name, answer] : client.answers) {
        if (*answer.result) continue;
        ++lost;
        EXPECT_THAT(answer.result->error().what, testing::HasSubstr("lost are the sequences"));
    }
    EXPECT_GE(lost, 2u);
    EXPECT_TRUE((*made)->cache().store().check());
}

}  // namespace
}  // namespace minfer
