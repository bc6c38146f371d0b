// minfer run: one prompt in, one answer out.

#include "commands.h"
#include "diagnostics.h"
#include "interrupt.h"
#include "model/vocab.h"
#include "model_options.h"
#include "prompt.h"
#include "prompt_cache.h"
#include "runtime/context_shift.h"
#include "runtime/generate.h"
#include "sampling_options.h"
#include "units.h"

namespace minfer {
namespace {

constexpr size_t kMaxStopStrings = 32;

struct RunOptions {
    std::optional<std::string> first, second;  // positionals: MODEL [PROMPT], or [PROMPT] after -m
    ModelOptions model;
    PromptOptions prompt;
    SamplingOptions sampling;
    std::optional<int64_t> max_tokens;
    std::vector<std::string> stop;
    bool ignore_eos = false;
    bool display_prompt = false;
    bool special = false;
    bool timings = true;
    std::optional<std::string> profile_trace;
    bool context_shift = false;
    std::optional<int64_t> keep;
    PromptCacheOptions cache;
};

void add_answer_flags(Flags& flags, RunOptions& options) {
    flags.group("Answer");
    flags.value("-n,--n-predict,--max-tokens,--predict", "N",
                "Most tokens to generate; -1 = until the end, 0 = only read the prompt (512)",
                set_number(options.max_tokens, int64_t{-1}));
    flags.value("-r,--stop,--reverse-prompt", "TEXT",
                "End before this text appears; up to 32 times", append_text(options.stop));
    flags.flag("--ignore-eos", "Never end before -n", [&] { options.ignore_eos = true; });
    flags.flag("--context-shift",
               "When the context is full, forget half of what lies behind --keep and go on",
               [&] { options.context_shift = true; });
    flags.flag("--no-context-shift", "Stop when the context is full (default)",
               [&] { options.context_shift = false; });
    flags.value("--keep", "N", "First tokens of the prompt that a shift keeps; -1 = all of it (0)",
                set_number(options.keep, int64_t{-1}));
    flags.flag("--display-prompt", "Print the prompt before the answer",
               [&] { options.display_prompt = true; });
    flags.flag("--no-display-prompt", "Print the answer only (default)",
               [&] { options.display_prompt = false; });
    flags.flag("-sp,--special", "Print control tokens", [&] { options.special = true; });
    flags.flag("--show-timings", "Summary line on stderr (default)",
               [&] { options.timings = true; });
    flags.value("--profile-trace", "FILE", "Timeline of the run for Perfetto or chrome://tracing",
                set_text(options.profile_trace));
    flags.flag("--no-perf", "No summary line", [&] { options.timings = false; });
    // What llama.cpp needs to be told and what is always so here.
    flags.flag("-st,-no-cnv,--single-turn,--no-conversation,--simple-io", "Accepted, always so",
               [] {});
}

// Sorts out positionals and -m, then asks whether the line makes sense.
Result<> settle_options(RunOptions& options) {
    auto prompt = std::move(options.second);
    if (options.model.model) {
        if (prompt)
            return fail(Fault::BadInput,
                        "unexpected argument '{}'; put quotes around text of several words",
                        *prompt);
        prompt = std::move(options.first);
    } else {
        options.model.model = std::move(options.first);
    }
    if (!options.model.model) return fail(Fault::BadInput, "no model given");
    if (prompt) {
        if (options.prompt.prompt)
            return fail(Fault::BadInput, "the prompt is given twice, with -p and as '{}'", *prompt);
        options.prompt.prompt = std::move(prompt);
    }
    MINFER_TRY(check_combination(options.prompt));
    MINFER_TRY(check_combination(options.cache));
    if (options.keep && !options.context_shift)
        return fail(Fault::BadInput, "--keep needs --context-shift");
    if (options.stop.size() > kMaxStopStrings)
        return fail(Fault::BadInput, "{} stop texts, at most {} are allowed", options.stop.size(),
                    kMaxStopStrings);
    for (auto& stop : options.stop) {
        if (options.prompt.escapes) stop = unescape(stop);
        if (stop.empty()) return fail(Fault::BadInput, "--stop: the text is empty");
        MINFER_TRY(check_utf8("--stop", stop));
    }
    return {};
}

// ", 12.3 tok/s"; nothing when nothing was measured.
std::string speed_text(size_t count, double seconds) {
    if (count == 0 || seconds <= 0) return {};
    return fmt::format(", {:.1f} tok/s", static_cast<double>(count) / seconds);
}

// `steps`: tokens evaluated after the prompt. The first token of the answer comes out of the
// prompt's logits, and the clock ran for the others.
void note_timings(Console& console, const Generation& result, size_t steps) {
    const auto part = result.n_prompt_done + result.n_reused < result.n_prompt
                          ? fmt::format("{} of ", result.n_prompt_done)
                          : std::string();
    const auto reused =
        result.n_reused > 0 ? fmt::format(" ({} from the cache)", result.n_reused) : std::string();
    console.note("prompt {}{}{}{}; generated {}{}; stopped: {}", part,
                 counted(result.n_prompt, "token"), reused,
                 speed_text(result.n_prompt_done, result.prompt_seconds),
                 counted(result.tokens.size(), "token"), speed_text(steps, result.decode_seconds),
                 describe(result.reason));
    if (result.n_shifted > 0)
        console.note("context full: {} forgotten, none evaluated again",
                     counted(result.n_shifted, "token"));
}

// How many of the first tokens a full context keeps; nothing when it ends the answer.
Result<std::optional<size_t>> shift_keep(const RunOptions& options, size_t n_prompt, size_t n_ctx) {
    if (!options.context_shift) return std::nullopt;
    const auto asked = options.keep.value_or(0);
    const auto keep = asked < 0 ? n_prompt : static_cast<size_t>(asked);
    if (shift_rows(n_ctx, keep) > 0) return keep;
    return fail(Fault::BadInput, "--keep {}: at most {} of a context of {} can be kept", asked,
                n_ctx < 2 ? 0 : n_ctx - 2, n_ctx);
}

void note_details(Console& console, const SamplerOptions& sampling, const Engine& engine) {
    const auto& counters = engine.counters();
    console.note(
        "sampling: temperature {}, top-k {}, top-p {}, min-p {}, repeat penalty {} over "
        "{}, presence {}, frequency {}",
        sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p,
        sampling.repeat_penalty, sampling.repeat_last_n, sampling.presence_penalty,
        sampling.frequency_penalty);
    console.note("graphs: {} built, {} reused, {} nodes run", counters.builds, counters.reuses,
                 counters.nodes_run);
}

Result<int> run(RunOptions& options, const Environment& env, Console& console) {
    auto diagnostics = Diagnostics(env, options.profile_trace, console);
    auto loaded = MINFER_TRY(open_model(options.model, env, console));
    const auto& meta = loaded.model->file().metadata();
    auto read = read_tokenizer(meta);
    if (!read) return at(loaded.path, std::move(read).error());
    const auto& tokenizer = *read;
    const auto n_usable = std::min(loaded.model->hparams().n_vocab, tokenizer.size());
    const auto sampling = MINFER_TRY(resolve_sampling(options.sampling, meta, n_usable));

    const auto prompt = MINFER_TRY(read_prompt(options.prompt));
    const auto text = MINFER_TRY(render_prompt(options.prompt, prompt, meta, tokenizer, console));
    const auto ids = MINFER_TRY(encode_prompt(text, tokenizer));
    if (ids.size() > loaded.options.n_ctx)
        return fail(Fault::BadInput,
                    "the prompt has {}, the context holds {}; the model was trained with {} "
                    "(-c 0)",
                    counted(ids.size(), "token"), loaded.options.n_ctx,
                    loaded.model->hparams().n_ctx_train);
    const auto keep = MINFER_TRY(shift_keep(options, ids.size(), loaded.options.n_ctx));
    watch_interrupts();
    // Said while the device lives: letting go of it waits for work that was given up.
    const auto say = [&](const Error& error) {
        return console.failed(with_advice(error, options.model));
    };
    if (const auto started = start(loaded, options.model, console); !started)
        return say(started.error());
    auto& engine = *loaded.engine;
    const auto cache = PromptCache::load(options.cache, engine, ids, console);
    if (!cache) return say(cache.error());
    diagnostics.watch(engine, text);
    if (sampling.temperature > 0) console.note("seed {}", sampling.seed);
    if (options.display_prompt) {
        const auto shown = MINFER_TRY(tokenizer.decode(ids, {.show_control = options.special}));
        MINFER_TRY(console.write(shown));
    }

    Result<> written;  // the first failure to write ends the run
    Result<> kept;     // and one to keep the prompt does not
    const auto hooks = GenerateHooks{
        .on_text =
            [&](std::string_view piece) {
                if (written) written = console.write(piece);
            },
        .on_prompt =
            [&](size_t done, size_t total) {
                console.progress(fmt::format("prompt {}/{}", done, total));
            },
        .prompt_done = [&] { kept = cache->save(engine); },
        .cancelled = [&] { return interrupted() || !written; },
    };
    auto result = generate(engine, tokenizer, sampling, ids,
                           {.max_tokens = options.max_tokens.value_or(512),
                            .stop = options.stop,
                            .ignore_eos = options.ignore_eos,
                            .show_control = options.special,
                            .shift_keep = keep,
                            .n_reused = cache->n_reused()},
                           hooks);
    if (!result) return say(result.error());
    const auto steps =
        engine.n_past() + result->n_shifted - result->n_reused - result->n_prompt_done;
    const auto told = diagnostics.finish(tokenizer);
    // What was interrupted is worth keeping, too; what was shifted cannot be used again.
    const bool more = cache->keeps_all() || result->n_prompt_done + result->n_reused < ids.size();
    if (kept && more && result->n_shifted == 0) kept = cache->save(engine);
    if (!written) return std::unexpected(std::move(written).error());
    if (options.timings) note_timings(console, *result, steps);
    if (options.model.verbose) note_details(console, sampling, engine);
    if (!kept) return say(kept.error());
    if (!told) return say(told.error());
    return result->reason == StopReason::Cancelled ? kExitInterrupted : kExitOk;
}

}  // namespace

int run_command(Console& console, Args args) {
    RunOptions options;
    Flags flags(
        "minfer run MODEL [PROMPT] [FLAGS]",
        "Answers one prompt on stdout. MODEL is a .gguf file or a folder with one. Without "
        "PROMPT, -p or -f the prompt is read from stdin (also for PROMPT -). A model with a "
        "chat template gets the prompt as the user's message; other models continue the "
        "text, and an empty one from the token that begins a text.");
    flags.positional("MODEL", "The model file", options.first);
    flags.positional("PROMPT", "The prompt", options.second);
    flags.value("-m,--model", "FILE", "The model, instead of MODEL", set_text(options.model.model));
    add_prompt_flags(flags, options.prompt);
    add_answer_flags(flags, options);
    add_prompt_cache_flags(flags, options.cache);
    add_sampling_flags(flags, options.sampling);
    add_batch_flags(flags, options.model);
    add_threads_flag(flags, options.model);
    add_device_flags(flags, options.model);
    add_loading_flags(flags, options.model);
    flags.footer(environment_help());
    if (const auto done = flags.parse(console, args)) return *done;
    const auto env = read_environment();
    if (!env) return flags.usage_error(console, env.error());
    if (const auto settled = settle_options(options); !settled)
        return flags.usage_error(console, settled.error());
    if (options.model.log_file)
        if (const auto opened = console.log_to(*options.model.log_file); !opened)
            return console.failed(opened.error());

    exit_at_interrupt();
    console.hold_notes();
    note_unknown_variables(*env, console);
    const auto code = run(options, *env, console);
    return code ? *code : console.failed(with_advice(code.error(), options.model));
}

}  // namespace minfer
