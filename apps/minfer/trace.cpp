// minfer trace: what each node of a real run computes, and where two such runs begin to differ.

#include "graph/trace_file.h"

#include "base/printable.h"
#include "commands.h"
#include "diagnostics.h"
#include "graph/trace_compare.h"
#include "interrupt.h"
#include "model/vocab.h"
#include "prompt.h"
#include "runtime/generate.h"
#include "units.h"

namespace minfer {
namespace {

constexpr double kDefaultBound = 1e-3;
constexpr int64_t kDefaultTokens = 8;

struct TraceOptions {
    std::optional<std::string> first, second;  // MODEL [PROMPT], or two traces
    std::optional<std::string> output;
    std::optional<int64_t> max_tokens;
    std::optional<double> bound;
    bool compare = false;
    ModelOptions model;
    PromptOptions prompt;
};

// Runs greedily, so that equal prompts give traces that can be compared.
Result<> record(const TraceOptions& options, const Environment& env, Console& console) {
    auto loaded = MINFER_TRY(open_model(options.model, env, console));
    const auto& meta = loaded.model->file().metadata();
    auto read = read_tokenizer(meta);
    if (!read) return at(loaded.path, std::move(read).error());
    const auto prompt = MINFER_TRY(read_prompt(options.prompt));
    const auto text = MINFER_TRY(render_prompt(options.prompt, prompt, meta, *read, console));
    const auto ids = MINFER_TRY(encode_prompt(text, *read));
    if (ids.size() > loaded.options.n_ctx)
        return fail(Fault::BadInput, "the prompt has {}, the context holds {}",
                    counted(ids.size(), "token"), loaded.options.n_ctx);
    watch_interrupts();
    MINFER_TRY(start(loaded, options.model, console));
    auto recorder = TraceRecorder(model_title(*loaded.model), text);
    loaded.engine->watch({.values = &recorder});
    const auto hooks =
        GenerateHooks{.on_text = {}, .on_prompt = {}, .cancelled = [] { return interrupted(); }};
    const auto generated =
        generate(*loaded.engine, *read, {.temperature = 0}, ids,
                 {.max_tokens = options.max_tokens.value_or(kDefaultTokens)}, hooks);
    if (!generated) return std::unexpected(generated.error());
    if (generated->reason == StopReason::Cancelled) return fail(Fault::Cancelled, "interrupted");
    return write_trace(recorder.trace(), *read, options.output.value_or("-"), console);
}

Result<Trace> read_trace(const std::string& path) {
    const auto text = MINFER_TRY(read_text_file(path));
    auto trace = trace_from_json(text);
    if (!trace) return at(path, std::move(trace).error());
    return trace;
}

std::string side_text(std::string_view label, const TraceDifference& found, const TraceSide& side) {
    return fmt::format(
        "  {}: {:<14} on {:<6} {} {:.6g}, mean {:.6g}, mean magnitude {:.6g}{}\n", label,
        escaped(side.op), escaped(side.backend), found.what, side.value, side.stats.mean,
        side.stats.mean_abs,
        side.stats.non_finite ? fmt::format(", {} not finite", side.stats.non_finite) : "");
}

std::string report(const TraceComparison& result, double bound) {
    const auto agreed =
        fmt::format("{} equal within {:g}; without a partner: {} of A, {} of B\n",
                    counted(result.n_equal, "value"), bound, result.only_a, result.only_b);
    if (!result.first && result.equal())
        return fmt::format("equal: {}, {}", counted(result.steps_a, "step"), agreed);
    if (!result.first)
        return fmt::format("different: A has {}, B {}; up to there {}",
                           counted(result.steps_a, "step"), result.steps_b, agreed);
    const auto& found = *result.first;
    return fmt::format(
        "different: step {} ({}, token {}), node {}, {} by {:.3g} relative\n{}{}  before it: {}",
        found.step, escaped(found.kind), found.token, escaped(found.node), found.what,
        found.relative, side_text("A", found, found.a), side_text("B", found, found.b), agreed);
}

int compare(const TraceOptions& options, Console& console) {
    const auto a = read_trace(*options.first);
    if (!a) return console.failed(a.error());
    const auto b = read_trace(*options.second);
    if (!b) return console.failed(b.error());
    const auto bound = options.bound.value_or(kDefaultBound);
    const auto result = compare_traces(*a, *b, bound);
    if (!result) return console.failed(result.error());
    if (const auto written = console.write(report(*result, bound)); !written)
        return console.failed(written.error());
    return result->equal() ? kExitOk : kExitDifferent;
}

Result<> settle(TraceOptions& options) {
    if (options.compare) {
        if (!options.first || !options.second || options.model.model)
            return fail(Fault::BadInput, "--compare takes the files of two traces");
        return {};
    }
    if (options.bound) return fail(Fault::BadInput, "--bound is for --compare");
    auto prompt = std::move(options.second);
    if (options.model.model && !prompt) {
        prompt = std::move(options.first);
        options.first.reset();
    }
    MINFER_TRY(settle_model(options.first, options.model.model));
    if (prompt && options.prompt.prompt)
        return fail(Fault::BadInput, "the prompt is given twice, with -p and as '{}'", *prompt);
    if (prompt) options.prompt.prompt = std::move(prompt);
    return check_combination(options.prompt);
}

}  // namespace

int trace_command(Console& console, Args args) {
    TraceOptions options;
    Flags flags("minfer trace MODEL [PROMPT] [FLAGS]\n       minfer trace --compare A.json B.json",
                "Runs a prompt and the likeliest continuation, and writes as JSON what every node "
                "of the graph computed in every step: minimum, maximum, mean, mean of magnitudes "
                "and up to 64 values. With --compare it names the first node where two traces of "
                "one model and prompt differ; their devices may be different ones. The exit code "
                "is then 0 when they are equal, 3 when they differ, and 1 when they cannot be "
                "compared.");
    flags.positional("MODEL", "The model file, or the first trace", options.first);
    flags.positional("PROMPT", "The prompt, or the second trace", options.second);
    flags.value("-m,--model", "FILE", "The model, instead of MODEL", set_text(options.model.model));
    flags.value("-o,--output", "FILE", "Write to this file instead of stdout",
                set_text(options.output));
    flags.value("-n,--n-predict,--max-tokens", "N", "Most tokens to generate (8)",
                set_number(options.max_tokens, int64_t{0}));
    flags.flag("--compare", "Compare two traces", [&] { options.compare = true; });
    flags.value("--bound", "X",
                "Difference that counts as equal, relative to the larger of the value and the "
                "node's mean magnitude (0.001)",
                set_number(options.bound, 0.0, 1e6));
    add_prompt_flags(flags, options.prompt);
    add_batch_flags(flags, options.model);
    add_threads_flag(flags, options.model);
    add_device_flags(flags, options.model);
    add_loading_flags(flags, options.model);
    flags.footer(environment_help());
    if (const auto done = flags.parse(console, args)) return *done;
    if (const auto wrong = settle(options); !wrong)
        return flags.usage_error(console, wrong.error());
    if (options.compare) return compare(options, console);
    const auto env = read_environment();
    if (!env) return flags.usage_error(console, env.error());
    exit_at_interrupt();
    note_unknown_variables(*env, console);
    const auto done = record(options, *env, console);
    if (done) return kExitOk;
    if (done.error().fault == Fault::Cancelled) return kExitInterrupted;
    return console.failed(with_advice(done.error(), options.model));
}

}  // namespace minfer
