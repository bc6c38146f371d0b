#include "runtime/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <numeric>

namespace minfer {
namespace {

TokenId id(int value) { return static_cast<TokenId>(value); }

// Everything off: draws from the plain softmax.
SamplerOptions plain(uint64_t seed = 1) {
    return {.temperature = 1,
            .top_k = 0,
            .top_p = 1,
            .min_p = 0,
            .repeat_penalty = 1,
            .repeat_last_n = 0,
            .seed = seed};
}

std::vector<float> random_logits(size_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> logits(n);
    for (auto& logit : logits) logit = normal(random);
    return logits;
}

// The same rules by a full sort, in double: the probability of every id.
std::vector<double> reference(const std::vector<float>& logits, const SamplerOptions& options) {
    std::vector<size_t> order(logits.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, [&](size_t a, size_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    });
    if (options.top_k > 0 && order.size() > static_cast<size_t>(options.top_k))
        order.resize(static_cast<size_t>(options.top_k));
    const auto softmax = [&](double temperature) {
        std::vector<double> p;
        for (const auto i : order)
            p.push_back(
                std::exp((static_cast<double>(logits[i]) - logits[order[0]]) / temperature));
        const auto total = std::accumulate(p.begin(), p.end(), 0.0);
        for (auto& x : p) x /= total;
        return p;
    };
    if (options.top_p < 1) {
        const auto p = softmax(1);
        double sum = 0;
        size_t kept = 0;
        while (kept < order.size() && sum < options.top_p) sum += p[kept++];
        order.resize(std::max<size_t>(kept, 1));
    }
    if (options.min_p > 0) {
        const auto p = softmax(1);
        size_t kept = 0;
        while (kept < order.size() && p[kept] >= options.min_p * p[0]) ++kept;
        order.resize(kept);
    }
    std::vector<double> result(logits.size(), 0);
    const auto p = softmax(options.temperature);
    for (size_t i = 0; i < order.size(); ++i) result[order[i]] = p[i];
    return result;
}

TEST(Sampler, DrawsFromTheDistributionOfAFullSort) {
    const auto logits = random_logits(300, 7);
    auto both = plain();
    both.top_k = 20;
    both.top_p = 0.9f;
    both.min_p = 0.02f;
    both.temperature = 1.5f;
    auto nucleus = plain();
    nucleus.top_p = 0.7f;
    auto floor = plain();
    floor.min_p = 0.05f;
    auto cold = plain();
    cold.temperature = 0.5f;
    for (const auto& options : {plain(), both, nucleus, floor, cold}) {
        const auto want = reference(logits, options);
        Sampler sampler(options);
        constexpr int kDraws = 40000;
        std::vector<int> seen(logits.size(), 0);
        for (int i = 0; i < kDraws; ++i) ++seen[static_cast<size_t>(*sampler.sample(logits, {}))];
        for (size_t i = 0; i < want.size(); ++i) {
            if (want[i] == 0) {
                EXPECT_EQ(seen[i], 0) << "token " << i << " was excluded";
                continue;
            }
            const double sigma = std::sqrt(want[i] * (1 - want[i]) * kDraws);
            EXPECT_NEAR(seen[i], want[i] * kDraws, 5 * sigma + 1) << "token " << i;
        }
    }
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestIdOnTies) {
    auto options = plain();
    options.temperature = 0;
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{1, 5, 5, 2}, {}), id(1));
}

TEST(Sampler, TopKKeepsExactlyKAndTheLowestIdsOnTies) {
    auto options = plain();
    options.top_k = 2;
    Sampler sampler(options);
    for (int i = 0; i < 200; ++i)
        EXPECT_THAT(static_cast<int>(*sampler.sample(std::vector<float>{3, 3, 3, 3}, {})),
                    testing::AnyOf(0, 1));
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
    const auto logits = random_logits(500, 3);
    Sampler a(plain(42)), b(plain(42)), c(plain(43));
    bool differs = false;
    for (int i = 0; i < 50; ++i) {
        const auto token = *a.sample(logits, {});
        EXPECT_EQ(token, *b.sample(logits, {}));
        differs |= token != *c.sample(logits, {});
    }
    EXPECT_TRUE(differs);
}

TEST(Sampler, PenaltiesFollowTheirOrder) {
    // count * frequency, then presence once, then the repeat factor, over the last 4 tokens only.
    auto options = plain();
    options.temperature = 0;
    options.repeat_last_n = 4;
    options.frequency_penalty = 1;
    options.presence_penalty = 0.5f;
    options.repeat_penalty = 2;
    const std::vector<TokenId> history = {id(3), id(0), id(0), id(1), id(0)};
    // 0: (10 - 3 - 0.5) / 2 = 3.25;  1: (4.9 - 1 - 0.5) / 2 = 1.7;  3 fell out of the window
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{10, 4.9f, 3.2f, 3.1f}, history), id(0));
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{10, 4.9f, 3.3f, 3.1f}, history), id(2));
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{10, 4.9f, 3.2f, 3.4f}, history), id(3));
    // a logit that is not positive is multiplied: -1 - 3.5 = -4.5 becomes -9
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{-1, -100, -8.9f, -100}, history), id(2));
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{-1, -100, -9.1f, -100}, history), id(0));
}

TEST(Sampler, BiasComesFirstAndMinusInfinityBans) {
    auto options = plain();
    options.logit_bias = {{id(0), -INFINITY}, {id(2), 5.f}};
    options.temperature = 0;
    EXPECT_EQ(*Sampler(options).sample(std::vector<float>{9, 4, 0}, {}), id(2));
    options.logit_bias = {{id(0), -INFINITY}, {id(1), -INFINITY}};
    for (const float temperature : {0.f, 1.f}) {
        options.temperature = temperature;
        const auto none = Sampler(options).sample(std::vector<float>{1, 2}, {});
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().what, "every token is banned");
    }
}

TEST(Sampler, BiasesThatOverflowStillDecide) {
    for (const float temperature : {0.f, 1.f}) {
        auto options = plain();
        options.temperature = temperature;
        for (const float top_p : {0.9f, 1.f}) {
            options.top_p = top_p;
            // Twice 3e38, and 3e38 on a logit as large: neither fits a float.
            options.logit_bias = {{id(1), 3e38f}, {id(1), 3e38f}};
            EXPECT_EQ(*Sampler(options).sample(std::vector<float>{9, 4, 0}, {}), id(1));
            options.logit_bias = {{id(1), 3e38f}};
            EXPECT_EQ(*Sampler(options).sample(std::vector<float>{9, 3e38f, 0}, {}), id(1));
            options.logit_bias = {{id(1), INFINITY}};
            EXPECT_EQ(*Sampler(options).sample(std::vector<float>{9, 4, 0}, {}), id(1));
            // A ban outweighs every bias, before and after it.
            options.logit_bias = {{id(0), INFINITY}, {id(0), -INFINITY}, {id(0), INFINITY}};
            EXPECT_NE(*Sampler(options).sample(std::vector<float>{9, 4, 0}, {}), id(0));
            // Downwards no sum becomes a ban: with nothing else left the token is drawn.
            options.logit_bias = {{id(0), -3e38f}, {id(0), -3e38f}, {id(1), -INFINITY}};
            const auto least = Sampler(options).sample(std::vector<float>{-3e38f, 1}, {});
            ASSERT_TRUE(least) << least.error().what;
            EXPECT_EQ(*least, id(0));
        }
    }
}

TEST(Sampler, PenaltiesThatOverflowNeitherBanNorWinOverABan) {
    const std::vector<TokenId> history = {id(0), id(1)};
    for (const float temperature : {0.f, 1.f}) {
        auto options = plain();
        options.temperature = temperature;
        options.repeat_last_n = -1;
        options.repeat_penalty = 1e9f;  // -1e30 times this
        options.logit_bias = {{id(1), -INFINITY}};
        const auto low = Sampler(options).sample(std::vector<float>{-1e30f, 5}, history);
        ASSERT_TRUE(low) << low.error().what;
        EXPECT_EQ(*low, id(0));
        options.repeat_penalty = 1e-6f;  // 1e35 divided by this
        const auto high = Sampler(options).sample(std::vector<float>{1e35f, 5, FLT_MAX}, history);
        ASSERT_TRUE(high) << high.error().what;
        EXPECT_NE(*high, id(1));
    }
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        const std::vector<TokenId> history(12);
        const auto result = Sampler(plain()).sample(std::vector<float>{0, bad}, history);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().fault, Fault::NotFinite);
        EXPECT_THAT(result.error().what, testing::HasSubstr("step 12: the logit of token 1 is"));
    }
}

TEST(Sampler, NamesTheOptionThatIsOutOfRange) {
    auto options = plain();
    options.top_p = 1.5f;
    const auto bad = check(options);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().what, "top-p is 1.5, allowed are 0 to 1");
    options = plain();
    options.temperature = NAN;
    EXPECT_FALSE(check(options));
    options = plain();
    options.logit_bias = {{id(7), NAN}};
    const auto bias = check(options);
    ASSERT_FALSE(bias);
    EXPECT_EQ(bias.error().what, "logit bias for token 7 is nan, expected a number");
    EXPECT_TRUE(check(plain()));
}

}  // namespace
}  // namespace minfer
