#pragma once
// Picks the next token from logits. In this order: biases, penalties, then the largest logit under
// temperature 0, else top-k, top-p, min-p, and a draw at the temperature.

#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/token_id.h"

namespace minfer {

struct SamplerOptions {
    float temperature = 0.8f;     // 0: greedy
    int32_t top_k = 40;           // 0: off
    float top_p = 0.95f;          // 1: off
    float min_p = 0;              // 0: off
    float repeat_penalty = 1.1f;  // 1: off
    int32_t repeat_last_n = 64;   // tokens looked back on; 0: off, -1: all
    float presence_penalty = 0;
    float frequency_penalty = 0;
    std::vector<std::pair<TokenId, float>> logit_bias;  // added; -infinity bans
    uint64_t seed = 0;
};

// BadInput naming option, value and range.
Result<> check(const SamplerOptions& options);

class Sampler {
  public:
    // The options passed check().
    explicit Sampler(SamplerOptions options);

    // `logits` of one row; `history` everything before it, prompt included. The largest logit wins
    // under temperature 0, the lowest id on ties. Sums with biases and penalties stop at the
    // largest finite float either way, so that only -infinity bans. NotFinite when a logit is
    // not, BadInput when nothing is left to choose from.
    Result<TokenId> sample(std::span<const float> logits, std::span<const TokenId> history);

    const SamplerOptions& options() const { return options_; }

  private:
    struct Candidate {
        float logit;
        TokenId id;
        double probability = 0;
    };
    // Higher logit first, lower id on ties.
    static bool better(const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    }

    void penalise(std::span<const TokenId> history);
    void sort_best(size_t count);
    void keep_top_k();
    void keep_top_p();
    void keep_min_p();
    TokenId draw();
    double uniform();

    SamplerOptions options_;
    std::mt19937_64 random_;  // its output is fixed by the standard
    std::vector<float> logits_;
    std::vector<uint32_t> counts_;  // per id, of the penalty window; zero between calls
    std::vector<Candidate> candidates_;
    size_t sorted_ = 0;  // this many candidates lead in order
};

}  // namespace minfer
