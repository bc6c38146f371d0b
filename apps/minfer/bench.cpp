// minfer bench: prompt and generation speed. Nothing but evaluation runs inside the clock.

#include <chrono>
#include <ctime>
#include <random>
#include <set>

#include "bench_report.h"
#include "commands.h"
#include "interrupt.h"
#include "machine.h"
#include "model_facts.h"
#include "model_options.h"
#include "number_list.h"

namespace minfer {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int64_t kMost = int64_t{1} << 24;  // tokens; keeps sums of a few of them small
constexpr int64_t kMostParallel = 1024;

struct BenchOptions {
    std::optional<std::string> file;
    ModelOptions model;
    Numbers n_prompt{512}, n_gen{128}, depth{0}, batch{kDefaultBatch}, ubatch{kDefaultUbatch};
    Numbers parallel{1};
    Numbers threads;                                // empty: the environment's or the default
    std::vector<std::pair<int64_t, int64_t>> both;  // -pg: prompt, then generation
    std::optional<int64_t> repetitions;
    std::string format = "md";
};

struct Test {
    int64_t n_prompt = 0, n_gen = 0, depth = 0;
    int64_t n_parallel = 1;  // sequences that generate at once, each so many tokens

    int64_t total() const { return n_prompt + n_gen + depth; }  // of one sequence
    int64_t cells() const { return total() * n_parallel; }
    std::string name() const {
        std::string text;
        if (n_prompt) text = fmt::format("pp{}", n_prompt);
        if (n_gen) text += fmt::format("{}tg{}", n_prompt ? "+" : "", n_gen);
        if (n_parallel > 1) text += fmt::format(" x{}", n_parallel);
        if (depth) text += fmt::format(" @ d{}", depth);
        return text;
    }
};

std::vector<Test> all_tests(const BenchOptions& options) {
    std::vector<Test> tests;
    for (const auto depth : options.depth) {
        for (const auto n : options.n_prompt)
            if (n) tests.push_back({.n_prompt = n, .depth = depth});
        for (const auto parallel : options.parallel)
            for (const auto n : options.n_gen)
                if (n) tests.push_back({.n_gen = n, .depth = depth, .n_parallel = parallel});
        for (const auto& [prompt, gen] : options.both)
            tests.push_back({.n_prompt = prompt, .n_gen = gen, .depth = depth});
    }
    return tests;
}

// Tokens that mean nothing, the same in every run: the time of a step depends on their number.
std::vector<TokenId> some_tokens(size_t count, size_t n_vocab) {
    std::mt19937 random(1);
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(random() % n_vocab));
    return tokens;
}

Result<> feed(Engine& engine, std::span<const TokenId> tokens, size_t batch) {
    while (!tokens.empty()) {
        const auto now = std::min(tokens.size(), batch);
        MINFER_TRY(engine.evaluate(tokens.first(now)));
        tokens = tokens.subspan(now);
        if (interrupted()) return fail(Fault::Cancelled, "interrupted");
    }
    return {};
}

// Each sequence gets the next of `tokens`, all in one graph a step.
Result<> feed_together(Engine& engine, std::span<const TokenId> tokens, size_t n_parallel) {
    std::vector<BatchPart> parts(n_parallel);
    for (size_t i = 0; i < tokens.size(); ++i) {
        for (size_t s = 0; s < n_parallel; ++s)
            parts[s] = {.seq = SeqId{static_cast<uint32_t>(s)}, .tokens = tokens.subspan(i, 1)};
        MINFER_TRY(engine.step(parts));
        if (interrupted()) return fail(Fault::Cancelled, "interrupted");
    }
    return {};
}

// Every sequence, and no other, with `depth` tokens.
Result<> begin_sequences(Engine& engine, const Test& test, std::span<const TokenId> depth,
                         size_t batch) {
    auto& cache = engine.cache();
    while (!cache.store().sequences().empty())
        cache.release(cache.store().sequences().begin()->first);
    for (uint32_t s = 0; s < static_cast<uint32_t>(test.n_parallel); ++s)
        MINFER_TRY(cache.reserve(SeqId{s}, static_cast<size_t>(test.total())));
    MINFER_TRY(feed(engine, depth, batch));
    for (uint32_t s = 1; !depth.empty() && s < static_cast<uint32_t>(test.n_parallel); ++s)
        MINFER_TRY(cache.copy_prefix(kMainSequence, SeqId{s}, depth.size()));
    return {};
}

// Seconds for each repetition, after one run that is not counted.
Result<std::vector<double>> measure(Engine& engine, const Test& test, size_t batch,
                                    int64_t repetitions, bool warmup) {
    const auto tokens =
        some_tokens(static_cast<size_t>(test.total()), engine.model().hparams().n_vocab);
    const auto all = std::span(tokens);
    const auto depth = static_cast<size_t>(test.depth);
    const auto prompt = all.subspan(depth, static_cast<size_t>(test.n_prompt));
    const auto generated = all.subspan(depth + prompt.size());
    MINFER_TRY(begin_sequences(engine, test, all.first(depth), batch));
    std::vector<double> seconds;
    for (int64_t i = warmup ? -1 : 0; i < repetitions; ++i) {
        for (uint32_t s = 0; s < static_cast<uint32_t>(test.n_parallel); ++s)
            MINFER_TRY(engine.cache().truncate(SeqId{s}, depth));
        // Warming up takes one generated token, not all.
        const auto steps =
            i < 0 ? generated.first(std::min<size_t>(generated.size(), 1)) : generated;
        const auto start = std::chrono::steady_clock::now();
        MINFER_TRY(feed(engine, prompt, batch));
        if (test.n_parallel > 1)
            MINFER_TRY(feed_together(engine, steps, static_cast<size_t>(test.n_parallel)));
        else
            MINFER_TRY(feed(engine, steps, 1));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (i >= 0) seconds.push_back(took.count());
    }
    return seconds;
}

std::string utc_now() {
    const auto now = std::time(nullptr);
    std::tm parts = {};
    ::gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// One way to run the model, and every test on it.
struct Setup {
    int threads;
    int64_t batch, ubatch;
};

// What every way to run the model shares.
struct Bench {
    const BenchOptions& options;
    const Environment& env;
    Model& model;
    std::vector<Test> tests;
    BenchReport& report;
    Console& console;
    std::set<std::string> said;  // refusals: once, not for every way

    Result<> measure_all(const Setup& setup, const Devices& devices);
    // What fails is said while the device lives: letting go of it waits for work that was given up.
    Result<int> run(const Setup& setup);
};

Result<> Bench::measure_all(const Setup& setup, const Devices& devices) {
    int64_t cells = 1, longest = 1, together = 1;
    for (const auto& test : tests) {
        cells = std::max(cells, test.cells());
        longest = std::max(longest, test.total());
        together = std::max(together, test.n_parallel);
    }
    const auto n_ubatch = std::max(std::min({setup.batch, setup.ubatch, longest}), together);
    auto how = engine_options(options.model.device, env);
    how.n_ctx = static_cast<size_t>(cells);
    how.n_ubatch = static_cast<size_t>(n_ubatch);
    how.kv_format = cache_format(options.model, env);
    const auto engine = MINFER_TRY(make_engine(model, devices, how));
    const auto& offload = engine->offload();
    for (const auto& refusal : offload.refusals)
        if (said.insert(refusal).second) console.note("note: {}", refusal);
    const auto facts = read_facts(model.file());
    BenchRow row{.model = facts.label(),
                 .filename = *options.file,
                 .type = std::string(name(facts.types.front().dtype)),
                 .backend = std::string(offload.backends.front()->name()),
                 .device = offload.on_device() ? devices.gpu : devices.cpu,
                 .gpu = offload.on_device() ? devices.gpu_name : "",
                 .cache_type = std::string(name(engine->kv_format())),
                 .flash_attn = offload.on_device() && devices.flash_attention,
                 .model_bytes = facts.tensor_bytes,
                 .n_parameters = facts.n_parameters,
                 .n_threads = setup.threads,
                 .n_batch = setup.batch,
                 .n_ubatch = setup.ubatch,
                 .n_gpu_layers = static_cast<int64_t>(offload.gpu_layers),
                 .n_layers = static_cast<int64_t>(model.hparams().n_layer)};
    for (const auto& test : tests) {
        console.progress(fmt::format("{} on {} threads", test.name(), setup.threads));
        row.test = test.name();
        row.n_prompt = test.n_prompt;
        row.n_gen = test.n_gen;
        row.n_depth = test.depth;
        row.n_parallel = test.n_parallel;
        row.test_time = utc_now();
        row.seconds = MINFER_TRY(measure(*engine, test, static_cast<size_t>(setup.batch),
                                         options.repetitions.value_or(5), options.model.warmup));
        MINFER_TRY(console.write(report.row(row)));
    }
    return {};
}

Result<int> Bench::run(const Setup& setup) {
    auto device = options.model.device;
    device.threads = setup.threads;
    const auto devices = MINFER_TRY(choose_devices(device, env, console));
    const auto measured = measure_all(setup, devices);
    return measured ? kExitOk : console.failed(with_advice(measured.error(), options.model));
}

Result<int> bench(BenchOptions& options, const Environment& env, Console& console) {
    {  // Refuse before the file is opened.
        const auto devices = MINFER_TRY(choose_devices(options.model.device, env, console));
        for (const auto& note : devices.notes) console.note("note: {}", note);
    }
    const auto report = MINFER_TRY(make_bench_report(options.format));
    const auto model = MINFER_TRY(load_model(options.model, env, console));
    const auto tests = all_tests(options);
    const auto trained = static_cast<int64_t>(model->hparams().n_ctx_train);
    for (const auto& test : tests)
        if (test.total() > trained)
            return fail(Fault::BadInput, "test {} needs {} tokens, the model was trained with {}",
                        test.name(), test.total(), trained);
    if (options.threads.empty())
        options.threads.push_back(env.threads.value_or(performance_cores()));
    console.release_notes();
    MINFER_TRY(console.write(report->head()));
    auto ways = Bench{.options = options,
                      .env = env,
                      .model = *model,
                      .tests = tests,
                      .report = *report,
                      .console = console};
    for (const auto threads : options.threads)
        for (const auto batch : options.batch)
            for (const auto ubatch : options.ubatch) {
                const auto code = MINFER_TRY(ways.run({static_cast<int>(threads), batch, ubatch}));
                if (code != kExitOk) return code;
            }
    MINFER_TRY(console.write(report->tail()));
    return kExitOk;
}

Flags::Set set_list(Numbers& target, int64_t low, int64_t high) {
    return [&target, low, high](std::string_view text) -> Result<> {
        target = MINFER_TRY(parse_number_list(text, low, high));
        return {};
    };
}

void add_flags(Flags& flags, BenchOptions& options) {
    flags.positional("MODEL", "A .gguf file, or a folder with one", options.file);
    flags.value("-m,--model", "FILE", "The model, instead of MODEL", set_text(options.model.model));
    flags.group("Tests (numbers may be lists and ranges: 1,2 or 128-512+128 or 1-64*2)");
    flags.value("-p,--n-prompt", "N", "Tokens of prompt; 0 = none of these tests (512)",
                set_list(options.n_prompt, 0, kMost));
    flags.value("-n,--n-gen", "N", "Tokens to generate; 0 = none of these tests (128)",
                set_list(options.n_gen, 0, kMost));
    flags.value("-pg,--prompt-gen", "P,G",
                "A test of P tokens of prompt and G generated; may be repeated",
                [&](std::string_view text) -> Result<> {
                    const auto pair = MINFER_TRY(parse_number_list(text, 1, kMost));
                    if (pair.size() != 2)
                        return fail(Fault::BadInput, "'{}' is not two numbers P,G", text);
                    options.both.emplace_back(pair[0], pair[1]);
                    return {};
                });
    flags.value("-d,--n-depth", "N", "Tokens already in the context when a test starts (0)",
                set_list(options.depth, 0, kMost));
    flags.value("-npl,--parallel", "N", "Sequences that generate at once, each -n tokens (1)",
                set_list(options.parallel, 1, kMostParallel));
    flags.value("-r,--repetitions", "N", "Measurements of each test (5)",
                set_number(options.repetitions, int64_t{1}, int64_t{10000}));
    flags.value("-b,--batch-size", "N", "Most prompt tokens in one call (2048)",
                set_list(options.batch, 1, kMost));
    flags.value("-ub,--ubatch-size", "N", "Most tokens in one graph (512)",
                set_list(options.ubatch, 1, kMost));
    flags.value("-t,--threads", "N", "CPU threads; default: physical cores",
                set_list(options.threads, 1, kMaxThreads));
    flags.value("-o,--output", "md|csv|json|jsonl", "Form of the result on stdout (md)",
                [&](std::string_view text) -> Result<> {
                    MINFER_TRY(make_bench_report(text));
                    options.format = text;
                    return {};
                });
    add_device_flags(flags, options.model);
    add_loading_flags(flags, options.model);
}

}  // namespace

int bench_command(Console& console, Args args) {
    BenchOptions options;
    Flags flags(
        "minfer bench MODEL [FLAGS]",
        "Measures tokens per second: ppN reads a prompt of N tokens, tgN generates N. Every "
        "combination of the given values is one row: mean and standard deviation after a "
        "run that is not counted.");
    add_flags(flags, options);
    if (const auto done = flags.parse(console, args)) return *done;
    if (const auto wrong = settle_model(options.file, options.model.model); !wrong)
        return flags.usage_error(console, wrong.error());
    const auto env = read_environment();
    if (!env) return flags.usage_error(console, env.error());
    if (all_tests(options).empty())
        return flags.usage_error(console, {Fault::BadInput, "no tests: -p and -n are 0"});
    if (options.model.log_file)
        if (const auto opened = console.log_to(*options.model.log_file); !opened)
            return console.failed(opened.error());
    watch_interrupts();
    console.hold_notes();
    note_unknown_variables(*env, console);
    const auto code = bench(options, *env, console);
    return code ? *code : console.failed(with_advice(code.error(), options.model));
}

}  // namespace minfer
