#include "graph/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/toy_model.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;

// A runner over the toy model with one sequence whose cells are its positions.
struct Toy {
    FakeBackend cpu{BackendId::Cpu, "cpu"};
    FakeBackend gpu{BackendId::Metal, "metal"};
    GraphRunner runner;

    explicit Toy(GraphRunner::Build build = ToyModel::build)
        : runner({&gpu, &cpu}, std::move(build)) {
        ToyModel::register_weights(cpu);
        ToyModel::register_weights(gpu);
    }

    Result<> fill(std::string_view name, const std::vector<int32_t>& values) {
        return runner.write_input(name, std::as_bytes(std::span(values)));
    }

    // Feeds the tokens at positions n_past, n_past + 1, ... and returns the logits.
    Result<std::vector<float>> step(GraphParams p, const std::vector<int32_t>& tokens,
                                    int32_t n_past) {
        p.n_tokens = tokens.size();
        p.n_ctx = 16;
        MINFER_TRY(runner.bind(p));
        auto positions = std::vector<int32_t>(tokens.size());
        std::iota(positions.begin(), positions.end(), n_past);
        auto window = std::vector<int32_t>(2 * tokens.size(), 0);
        for (size_t t = 0; t < tokens.size(); ++t) window[tokens.size() + t] = positions[t] + 1;
        MINFER_TRY(fill("token_ids", tokens));
        MINFER_TRY(fill("positions", positions));
        MINFER_TRY(fill("cells", positions));
        MINFER_TRY(fill("attn_span", window));
        if (runner.has_input("tail_ids")) {
            auto tail = std::vector<int32_t>(p.n_out);
            std::iota(tail.begin(), tail.end(), static_cast<int32_t>(tokens.size() - p.n_out));
            MINFER_TRY(fill("tail_ids", tail));
        }
        MINFER_TRY(runner.execute());
        auto logits = std::vector<float>(p.n_out * ToyModel::kVocab);
        MINFER_TRY(runner.read_output(0, logits));
        return logits;
    }
};

const auto kPrompt = std::vector<int32_t>{3, 1, 4, 1, 5};

std::vector<float> cpu_logits(size_t n_out) {
    Toy toy;
    return *toy.step({.n_out = n_out}, kPrompt, 0);
}

TEST(GraphRunner, PrefillAndTokenByTokenAgreeBitwise) {
    const auto whole = cpu_logits(5);
    Toy toy;
    for (size_t t = 0; t < kPrompt.size(); ++t) {
        const auto one = toy.step({}, {kPrompt[t]}, static_cast<int32_t>(t));
        ASSERT_TRUE(one) << one.error().what;
        const auto row = std::span(whole).subspan(t * ToyModel::kVocab, ToyModel::kVocab);
        EXPECT_TRUE(std::ranges::equal(*one, row)) << "token " << t;
    }
    EXPECT_FALSE(std::isnan(whole.back()));
    EXPECT_EQ(toy.runner.counters().builds, 1u);
    EXPECT_EQ(toy.runner.counters().reuses, 4u);
    EXPECT_EQ(toy.runner.counters().remaps, 1u);
}

TEST(GraphRunner, TailRowsAreTheLastRowsOfTheWhole) {
    const auto whole = cpu_logits(5);
    const auto tail = cpu_logits(2);
    EXPECT_TRUE(std::ranges::equal(tail, std::span(whole).last(2 * ToyModel::kVocab)));
}

}  // namespace
}  // namespace minfer
