#include "runtime/generate.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "runtime/context_shift.h"
#include "runtime/stop_strings.h"
#include "text/stream_decoder.h"

namespace minfer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::string_view describe(StopReason reason) {
    switch (reason) {
        case StopReason::EndToken:
            return "end of text";
        case StopReason::StopString:
            return "stop string";
        case StopReason::TokenLimit:
            return "token limit";
        case StopReason::ContextFull:
            return "context full";
        case StopReason::Cancelled:
            return "interrupted";
    }
    std::unreachable();
}

Result<Generation> generate(Engine& engine, const Tokenizer& tokenizer, SamplerOptions sampling,
                            std::span<const TokenId> prompt, const GenerateOptions& options,
                            const GenerateHooks& hooks) {
    // Rows past the vocabulary are padding: no text belongs to them.
    const auto n_vocab = engine.model().hparams().n_vocab;
    const auto n_usable = std::min(n_vocab, tokenizer.size());
    if (options.ignore_eos)
        for (const auto id : tokenizer.end_tokens())
            sampling.logit_bias.emplace_back(id, -INFINITY);
    auto sampler = Sampler(std::move(sampling));
    auto decoder = StreamDecoder(tokenizer, {.show_control = options.show_control});
    auto stops = StopStrings(options.stop);
    const auto cancelled = [&] { return hooks.cancelled && hooks.cancelled(); };
    const auto show = [&](std::string_view text) {
        if (!text.empty() && hooks.on_text) hooks.on_text(text);
    };

    Generation result;
    result.n_prompt = prompt.size();
    const auto n_past = engine.n_past();
    const auto prompt_start = Clock::now();
    result.n_reused = options.n_reused;
    auto logits = engine.evaluate(prompt.subspan(options.n_reused), 1, [&](size_t done) {
        if (hooks.on_prompt) hooks.on_prompt(options.n_reused + done, prompt.size());
        return !cancelled();
    });
    result.prompt_seconds = seconds_since(prompt_start);
    result.n_prompt_done = engine.n_past() - n_past;
    if (!logits && logits.error().fault == Fault::Cancelled) {
        result.reason = StopReason::Cancelled;
        return result;
    }

    if (logits && hooks.prompt_done) hooks.prompt_done();

    std::vector<TokenId> history(prompt.begin(), prompt.end());
    const auto decode_start = Clock::now();
    const auto limit = options.max_tokens < 0 ? SIZE_MAX : static_cast<size_t>(options.max_tokens);
    for (;;) {
        if (!logits) return std::unexpected(std::move(logits).error());
        if (limit == 0) break;
        if (cancelled()) {
            result.reason = StopReason::Cancelled;
            break;
        }
        const auto token = MINFER_TRY(sampler.sample(logits->first(n_usable), history));
        if (tokenizer.is_end(token)) {
            result.reason = StopReason::EndToken;
            break;
        }
        result.tokens.push_back(token);
        history.push_back(token);
        show(stops.push(decoder.push(token)));
        if (stops.hit()) {
            result.reason = StopReason::StopString;
            break;
        }
        if (result.tokens.size() >= limit) {
            result.reason = StopReason::TokenLimit;
            break;
        }
        if (engine.n_past() == engine.n_ctx()) {
            if (!options.shift_keep) {
                result.reason = StopReason::ContextFull;
                break;
            }
            result.n_shifted +=
                MINFER_TRY(shift_context(engine.cache(), kMainSequence, *options.shift_keep));
        }
        logits = engine.evaluate(std::span(&token, 1));
    }
    // A character cut short by the end is dropped: the decoder is not flushed.
    show(stops.flush());
    result.decode_seconds = seconds_since(decode_start);
    return result;
}

}  // namespace minfer
