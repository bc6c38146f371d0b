#pragma once
// The loop from prompt to text: evaluate, sample, decode, stop.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "runtime/sampler.h"
#include "text/tokenizer.h"

namespace minfer {

enum class StopReason : uint8_t { EndToken, StopString, TokenLimit, ContextFull, Cancelled };

std::string_view describe(StopReason reason);

struct GenerateOptions {
    int64_t max_tokens = -1;        // -1: until an end token or the context is full; 0: none
    std::vector<std::string> stop;  // stop strings
    bool ignore_eos = false;        // end tokens are banned
    bool show_control = false;      // print control tokens as their text
    // When the context is full, forget half of what lies behind its first so many tokens and go on
    // (context_shift.h); none: stop.
    std::optional<size_t> shift_keep;
    size_t n_reused = 0;
};

struct Generation {
    std::vector<TokenId> tokens;  // without the end token
    StopReason reason = StopReason::TokenLimit;
    size_t n_prompt = 0;        // tokens given
    size_t n_reused = 0;        // of those, in the engine's sequence before
    size_t n_prompt_done = 0;   // evaluated: fewer than the rest when cancelled in between
    size_t n_shifted = 0;       // tokens forgotten to make room
    double prompt_seconds = 0;  // evaluating those
    double decode_seconds = 0;  // from then on
};

struct GenerateHooks {
    std::function<void(std::string_view)> on_text;             // whole UTF-8 characters
    std::function<void(size_t done, size_t total)> on_prompt;  // progress
    std::function<void()> prompt_done;                         // all of it is evaluated
    std::function<bool()> cancelled;                           // asked between graphs
};

// Continues the engine's sequence with `prompt` and then the model's own. The first `n_reused`
// tokens of the prompt are the last ones of that sequence already; at least one is not. Cancelling
// is a StopReason, not an error.
Result<Generation> generate(Engine& engine, const Tokenizer& tokenizer, SamplerOptions sampling,
                            std::span<const TokenId> prompt, const GenerateOptions& options,
                            const GenerateHooks& hooks);

}  // namespace minfer
