#include "sampling_options.h"

#include <cmath>
#include <random>

namespace minfer {
namespace {

constexpr float kMany = 1e9f;

// ID+X, ID-X, ID:X, ID=X; X may be false or -inf, which bans the token.
Result<std::pair<int64_t, float>> parse_bias(std::string_view text) {
    const auto wrong = [&] {
        return fail(Fault::BadInput,
                    "'{}' is not ID+X, ID-X, ID:X or ID:false with a token id and a number", text);
    };
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto id = parse_number<int64_t>(text.substr(0, digits));
    auto rest = text.substr(digits);
    if (!id || rest.empty()) return wrong();
    const char separator = rest.front();
    rest.remove_prefix(1);
    if (separator == ':' || separator == '=') {
        if (rest == "false" || rest == "-inf") return std::pair(*id, -INFINITY);
        if (rest.starts_with('+')) rest.remove_prefix(1);
    } else if (separator != '+' && separator != '-') {
        return wrong();
    } else if (rest.starts_with('-')) {
        return wrong();
    } else if (separator == '-' && rest == "inf") {
        return std::pair(*id, -INFINITY);
    }
    const auto value = parse_number<float>(rest);
    if (!value || !std::isfinite(*value)) return wrong();
    return std::pair(*id, separator == '-' ? -*value : *value);
}

template <class T>
Result<> take(T& target, const std::optional<T>& given, const gguf::Metadata& meta,
              std::string_view hint) {
    if (given) {
        target = *given;
        return {};
    }
    const auto key = fmt::format("general.sampling.{}", hint);
    if (hint.empty() || !meta.has(key)) return {};
    if constexpr (std::is_integral_v<T>) {
        const auto value = MINFER_TRY(meta.get_int(key));
        if (value < -1 || value > INT32_MAX)
            return fail(Fault::BadInput, "{} is {}, allowed are -1 to {}", key, value, INT32_MAX);
        target = static_cast<T>(value);
    } else {
        target = static_cast<T>(MINFER_TRY(meta.get_float(key)));
    }
    return {};
}

}  // namespace

void add_sampling_flags(Flags& flags, SamplingOptions& options) {
    flags.group("Sampling");
    flags.value("--temp,--temperature", "X", "0 = always the likeliest token (0.8)",
                set_number(options.temperature, 0.f, kMany));
    flags.flag("--greedy", "Same as --temp 0", [&] { options.temperature = 0.f; });
    flags.value("--top-k", "N", "Choose among the N likeliest tokens; 0 = off (40)",
                set_number(options.top_k, 0));
    flags.value("--top-p", "X", "Choose among the likeliest that reach X together; 1 = off (0.95)",
                set_number(options.top_p, 0.f, 1.f));
    flags.value("--min-p", "X", "Drop tokens below X times the likeliest; 0 = off (0)",
                set_number(options.min_p, 0.f, 1.f));
    flags.value("--repeat-penalty,--repetition-penalty", "X",
                "Factor against tokens used lately; 1 = off (1.1)",
                set_number(options.repeat_penalty, 1e-6f, kMany));
    flags.value("--repeat-last-n", "N", "How many tokens count as lately; -1 = all, 0 = none (64)",
                set_number(options.repeat_last_n, -1));
    flags.value("--presence-penalty", "X", "Subtracted once for a token used lately (0)",
                set_number(options.presence_penalty, -kMany, kMany));
    flags.value("--frequency-penalty", "X", "Subtracted for every use lately (0)",
                set_number(options.frequency_penalty, -kMany, kMany));
    flags.value("-l,--logit-bias", "ID+X|ID-X|ID:X", "Favour or, with ID:false, ban a token",
                [&](std::string_view text) -> Result<> {
                    options.logit_bias.push_back(MINFER_TRY(parse_bias(text)));
                    return {};
                });
    flags.value("-s,--seed", "N", "Repeat a run; -1 = random, printed (default)",
                [&](std::string_view text) -> Result<> {
                    options.seed.reset();
                    if (text == "-1") return {};
                    options.seed = MINFER_TRY(parse_in_range(text, uint64_t{0}, UINT64_MAX));
                    return {};
                });
}

Result<SamplerOptions> effective_sampling(const SamplingOptions& options,
                                          const gguf::Metadata& meta) {
    SamplerOptions result;
    MINFER_TRY(take(result.temperature, options.temperature, meta, "temp"));
    MINFER_TRY(take(result.top_k, options.top_k, meta, "top_k"));
    MINFER_TRY(take(result.top_p, options.top_p, meta, "top_p"));
    MINFER_TRY(take(result.min_p, options.min_p, meta, "min_p"));
    MINFER_TRY(take(result.repeat_penalty, options.repeat_penalty, meta, "penalty_repeat"));
    MINFER_TRY(take(result.repeat_last_n, options.repeat_last_n, meta, "penalty_last_n"));
    MINFER_TRY(take(result.presence_penalty, options.presence_penalty, meta, ""));
    MINFER_TRY(take(result.frequency_penalty, options.frequency_penalty, meta, ""));
    MINFER_TRY(check(result));
    return result;
}

Result<SamplerOptions> resolve_sampling(const SamplingOptions& options, const gguf::Metadata& meta,
                                        size_t n_usable) {
    auto result = MINFER_TRY(effective_sampling(options, meta));
    for (const auto& [id, bias] : options.logit_bias) {
        if (id >= static_cast<int64_t>(n_usable))
            return fail(Fault::BadInput, "--logit-bias: token id {}, the vocabulary has {}", id,
                        n_usable);
        result.logit_bias.emplace_back(static_cast<TokenId>(id), bias);
    }
    result.seed = options.seed ? *options.seed : std::random_device{}();
    return result;
}

}  // namespace minfer
