// minfer graph: the compute graph as it runs, after placement and fusion.

#include "commands.h"
#include "graph/export.h"
#include "model_facts.h"
#include "model_options.h"
#include "output_file.h"

namespace minfer {
namespace {

struct GraphOptions {
    std::optional<std::string> file, output;
    ModelOptions model;
    std::string phase = "prefill", format = "dot";
    std::optional<int64_t> n_tokens;
};

Result<std::string> export_graph(const GraphOptions& options, const Devices& devices,
                                 const Environment& env, Console& console) {
    for (const auto& note : devices.notes) console.note("note: {}", note);
    const auto model = MINFER_TRY(load_model(options.model, env, console));
    const auto n_ctx = MINFER_TRY(choose_context(options.model, env, model->hparams(), console));
    const auto n_tokens = options.phase == "decode"
                              ? size_t{1}
                              : static_cast<size_t>(options.n_tokens.value_or(
                                    std::min(kDefaultUbatch, static_cast<int64_t>(n_ctx))));
    if (n_tokens > n_ctx)
        return fail(Fault::BadInput, "--tokens {}: the context holds {}", n_tokens, n_ctx);
    auto how = engine_options(options.model.device, env);
    how.n_ctx = n_ctx;
    how.n_ubatch = n_tokens;
    how.kv_format = cache_format(options.model, env);
    const auto engine = MINFER_TRY(make_engine(*model, devices, how));
    for (const auto& refusal : engine->offload().refusals) console.note("note: {}", refusal);
    MINFER_TRY(engine->prepare(n_tokens, 1));
    const auto facts = read_facts(model->file());
    const auto info =
        ExportInfo{.model = facts.model_name.empty() ? facts.architecture : facts.model_name,
                   .kind = options.phase};
    return options.format == "dot" ? to_dot(engine->graph(), info) : to_json(engine->graph(), info);
}

Flags::Set one_of(std::string& target, std::string first, std::string second) {
    return [&target, first, second](std::string_view text) -> Result<> {
        if (text != first && text != second)
            return fail(Fault::BadInput, "'{}' is not one of {}, {}", text, first, second);
        target = text;
        return {};
    };
}

}  // namespace

int graph_command(Console& console, Args args) {
    GraphOptions options;
    options.model.warmup = false;
    Flags flags("minfer graph MODEL [FLAGS]",
                "Prints the graph of one step, as it is executed: after placement and fusion. DOT "
                "is for Graphviz: minfer graph MODEL --phase decode | dot -Tsvg -o graph.svg");
    flags.positional("MODEL", "A .gguf file, or a folder with one", options.file);
    flags.value("-m,--model", "FILE", "The model, instead of MODEL", set_text(options.model.model));
    flags.value("--phase", "prefill|decode", "Prompt or one generated token (prefill)",
                one_of(options.phase, "prefill", "decode"));
    flags.value("--tokens", "N", "Tokens of prompt in the graph (512, or the context)",
                set_number(options.n_tokens, int64_t{1}, kMaxContext));
    flags.value("--format", "dot|json", "Form of the result (dot)",
                one_of(options.format, "dot", "json"));
    flags.value("-o,--output", "FILE", "Write to this file instead of stdout",
                set_text(options.output));
    flags.value("-c,--ctx-size,--n-ctx", "N", "Context in tokens, as for run",
                set_number(options.model.n_ctx, int64_t{0}, kMaxContext));
    add_threads_flag(flags, options.model);
    add_device_flags(flags, options.model);
    if (const auto done = flags.parse(console, args)) return *done;
    if (const auto wrong = settle_model(options.file, options.model.model); !wrong)
        return flags.usage_error(console, wrong.error());
    if (options.phase == "decode" && options.n_tokens.value_or(1) != 1)
        return flags.usage_error(console,
                                 {Fault::BadInput, "--phase decode runs 1 token at a time"});
    const auto env = read_environment();
    if (!env) return flags.usage_error(console, env.error());
    // They live until what failed was said: letting go of them waits for work that was given up.
    const auto devices = choose_devices(options.model.device, *env, console);
    if (!devices) return console.failed(devices.error());
    const auto text = export_graph(options, *devices, *env, console);
    if (!text) return console.failed(with_advice(text.error(), options.model));
    const auto written = options.output && *options.output != "-"
                             ? write_file(*options.output, *text)
                             : console.write(*text);
    return written ? kExitOk : console.failed(written.error());
}

}  // namespace minfer
