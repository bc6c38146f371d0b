#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minfer {
namespace {

Result<> in_range(std::string_view name, double value, double low, double high) {
    if (value >= low && value <= high) return {};
    return fail(Fault::BadInput, "{} is {}, allowed are {} to {}", name, value, low, high);
}

// Differences of logits decide, and inf - inf is none: only a ban is infinite.
float finite(float logit) {
    constexpr auto kMax = std::numeric_limits<float>::max();
    return std::clamp(logit, -kMax, kMax);
}

}  // namespace

Result<> check(const SamplerOptions& options) {
    constexpr double kMany = 1e9;
    MINFER_TRY(in_range("temperature", options.temperature, 0, kMany));
    MINFER_TRY(in_range("top-k", options.top_k, 0, kMany));
    MINFER_TRY(in_range("top-p", options.top_p, 0, 1));
    MINFER_TRY(in_range("min-p", options.min_p, 0, 1));
    MINFER_TRY(in_range("repeat-penalty", options.repeat_penalty, 1e-6, kMany));
    MINFER_TRY(in_range("repeat-last-n", options.repeat_last_n, -1, kMany));
    MINFER_TRY(in_range("presence-penalty", options.presence_penalty, -kMany, kMany));
    MINFER_TRY(in_range("frequency-penalty", options.frequency_penalty, -kMany, kMany));
    for (const auto& [id, bias] : options.logit_bias)
        if (std::isnan(bias))
            return fail(Fault::BadInput, "logit bias for token {} is {}, expected a number",
                        static_cast<int32_t>(id), bias);
    return {};
}

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), random_(options_.seed) {}

Result<TokenId> Sampler::sample(std::span<const float> logits, std::span<const TokenId> history) {
    logits_.assign(logits.begin(), logits.end());
    for (size_t id = 0; id < logits_.size(); ++id)
        if (!std::isfinite(logits_[id]))
            return fail(Fault::NotFinite, "step {}: the logit of token {} is {}", history.size(),
                        id, logits_[id]);
    for (const auto& [id, bias] : options_.logit_bias) {
        const auto index = static_cast<size_t>(id);
        if (index >= logits_.size())
            return fail(Fault::BadInput, "logit bias for token {}, allowed are ids below {}", index,
                        logits_.size());
        auto& logit = logits_[index];
        const bool banned = logit == -INFINITY || bias == -INFINITY;
        logit = banned ? -INFINITY : finite(logit + bias);
    }
    penalise(history);

    if (options_.temperature == 0) {
        const auto best = std::ranges::max_element(logits_);  // the first of equals
        if (*best == -INFINITY) return fail(Fault::BadInput, "every token is banned");
        return static_cast<TokenId>(best - logits_.begin());
    }
    candidates_.clear();
    for (size_t id = 0; id < logits_.size(); ++id)
        if (logits_[id] != -INFINITY)
            candidates_.push_back({.logit = logits_[id], .id = static_cast<TokenId>(id)});
    if (candidates_.empty()) return fail(Fault::BadInput, "every token is banned");
    sorted_ = 0;
    keep_top_k();
    keep_top_p();
    keep_min_p();
    return draw();
}

void Sampler::penalise(std::span<const TokenId> history) {
    const auto window = options_.repeat_last_n < 0
                            ? history.size()
                            : std::min(history.size(), static_cast<size_t>(options_.repeat_last_n));
    const auto recent = history.last(window);
    counts_.resize(logits_.size());
    const auto each_recent = [&](auto&& visit) {
        for (const auto id : recent)
            if (static_cast<size_t>(id) < counts_.size()) visit(static_cast<size_t>(id));
    };
    each_recent([&](size_t id) { ++counts_[id]; });
    each_recent([&](size_t id) {
        if (counts_[id] == 0) return;  // handled at its first occurrence
        auto& logit = logits_[id];
        const bool banned = logit == -INFINITY;
        logit -= static_cast<float>(counts_[id]) * options_.frequency_penalty;
        logit -= options_.presence_penalty;
        logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
        if (!banned) logit = finite(logit);
        counts_[id] = 0;
    });
}

// Brings the best `count` candidates to the front in order; what is in order already stays.
void Sampler::sort_best(size_t count) {
    count = std::min(count, candidates_.size());
    if (count <= sorted_) return;
    const auto begin = candidates_.begin() + static_cast<ptrdiff_t>(sorted_);
    const auto end = candidates_.begin() + static_cast<ptrdiff_t>(count);
    if (end != candidates_.end()) std::nth_element(begin, end - 1, candidates_.end(), better);
    std::sort(begin, end, better);
    sorted_ = count;
}

void Sampler::keep_top_k() {
    const auto k = static_cast<size_t>(options_.top_k);
    if (k == 0 || k >= candidates_.size()) return;
    sort_best(k);
    candidates_.resize(k);
}

// The smallest leading set whose probability reaches p; sorts only as far as it has to look.
void Sampler::keep_top_p() {
    if (options_.top_p >= 1) return;
    sort_best(1);
    const double max = candidates_[0].logit;
    double total = 0;
    for (auto& candidate : candidates_) {
        candidate.probability = std::exp(candidate.logit - max);
        total += candidate.probability;
    }
    double sum = 0;
    size_t kept = 0;
    while (kept < candidates_.size()) {
        if (kept == sorted_) sort_best(2 * sorted_);
        sum += candidates_[kept++].probability;
        if (sum >= options_.top_p * total) break;
    }
    candidates_.resize(kept);
    sorted_ = kept;
}

void Sampler::keep_min_p() {
    if (options_.min_p <= 0) return;
    sort_best(1);
    // p / p_max >= min_p, in logarithms
    const double floor = candidates_[0].logit + std::log(static_cast<double>(options_.min_p));
    std::erase_if(candidates_, [&](const Candidate& candidate) { return candidate.logit < floor; });
    sorted_ = std::min(sorted_, candidates_.size());
}

TokenId Sampler::draw() {
    sort_best(1);
    const double max = candidates_[0].logit;
    double total = 0;
    for (auto& candidate : candidates_) {
        candidate.probability = std::exp((candidate.logit - max) / options_.temperature);
        total += candidate.probability;
    }
    const double target = uniform() * total;
    double sum = 0;
    for (size_t i = 0; i < candidates_.size(); ++i) {
        if (i == sorted_) sort_best(2 * sorted_);
        sum += candidates_[i].probability;
        if (target < sum) return candidates_[i].id;
    }
    return candidates_.back().id;  // rounding left a gap
}

double Sampler::uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

}  // namespace minfer
