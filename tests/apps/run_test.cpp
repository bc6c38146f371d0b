#include <fstream>
#include <iterator>
#include <thread>

#include "apps/program.h"

namespace minfer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using RunCommand = WithModel;

TEST_F(RunCommand, GivesTheSameTextForTheSameSeedOnAnyNumberOfThreads) {
    const auto first = minfer_says({"run", model, "Once", "-n", "40", "-s", "7", "-t", "1"});
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.out, Not(IsEmpty()));
    EXPECT_EQ(minfer_says({"run", model, "Once", "-n", "40", "-s", "7", "-t", "2"}).out, first.out);
    EXPECT_EQ(minfer_says({"run", model, "Once", "-n", "40", "-s", "7", "-ub", "1"}).out,
              first.out);
    EXPECT_NE(minfer_says({"run", model, "Once", "-n", "40", "-s", "8"}).out, first.out);
}

TEST_F(RunCommand, AcceptsTheHabitsOfLlamaCpp) {
    const auto spec =
        minfer_says({"-m", model, "-p", "Hi", "-n", "32", "--temp", "0", "-ngl", "99", "-c", "128",
                     "-no-cnv", "-fa", "auto", "-ctk", "f32", "-ub", "64"});
    ASSERT_EQ(spec.code, 0) << spec.err;
    EXPECT_THAT(spec.err, HasSubstr("-ngl 99: no GPU device is in use"));
    const auto greedy = std::vector<std::string>{"-n", "32", "--greedy"};
    const auto same = [&](std::vector<std::string> args, std::string input = "") {
        args.insert(args.end(), greedy.begin(), greedy.end());
        const auto outcome = minfer_says(std::move(args), {.input = std::move(input)});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.out, spec.out);
    };
    same({"run", model, "Hi"});
    same({model, "Hi"});
    same({"-m", model, "Hi"});
    same({"run", model}, "Hi\n");
    same({"run", model, "-"}, "Hi");
    same({"run", model, "-p", "\\x48i", "-e"});
    same({"run", dir.path().string(), "Hi"});  // the only model in the folder
    same({"run", model, "Hi", "-n32"});
}

TEST_F(RunCommand, PutsOnlyModelTextOnStdout) {
    const auto silent = minfer_says({"run", model, "Hi", "-n", "0"});
    EXPECT_EQ(silent.code, 0);
    EXPECT_THAT(silent.out, IsEmpty());
    EXPECT_THAT(silent.err, HasSubstr("device cpu"));
    EXPECT_THAT(silent.err, HasSubstr("stopped: token limit"));
    EXPECT_THAT(silent.err, HasSubstr("seed "));
    EXPECT_THAT(silent.err, Not(HasSubstr("\r")));  // progress is for terminals
    EXPECT_THAT(minfer_says({"run", model, "Hi", "-n", "0", "--no-perf"}).err,
                Not(HasSubstr("tok/s")));
    EXPECT_EQ(minfer_says({"run", model, "Hi", "-n", "0", "--display-prompt"}).out, "Hi");
}

TEST_F(RunCommand, LeavesOutTheSpeedOfWhatDidNotHappen) {
    const auto one = minfer_says({"run", model, "Hi", "-n", "1", "--ignore-eos"});
    EXPECT_THAT(one.err, HasSubstr("prompt 2 tokens, "));
    EXPECT_THAT(one.err, HasSubstr("; generated 1 token; stopped: token limit"));
    const auto two = minfer_says({"run", model, "Hi", "-n", "2", "--ignore-eos"});
    EXPECT_THAT(two.err, testing::ContainsRegex("generated 2 tokens, [0-9.]+ tok/s; stopped"));
    EXPECT_THAT(minfer_says({"run", model, "H", "-n", "0", "-c", "1"}).err,
                HasSubstr("context 1 token with"));
}

TEST_F(RunCommand, StopsBeforeAStopString) {
    const auto whole = minfer_says({"run", model, "Hi", "-n", "60", "--greedy"}).out;
    ASSERT_GT(whole.size(), 20u);
    // Some text from the middle that is whole characters.
    auto at = whole.size() / 2;
    while ((static_cast<unsigned char>(whole[at]) & 0xc0) == 0x80) ++at;
    auto end = at + 1;
    while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xc0) == 0x80) ++end;
    const auto stop = whole.substr(at, end - at);
    const auto outcome = minfer_says({"run", model, "Hi", "-n", "60", "--greedy", "-r", stop});
    EXPECT_EQ(outcome.out, whole.substr(0, whole.find(stop)));
    EXPECT_THAT(outcome.err, HasSubstr("stopped: stop string"));
}

TEST_F(RunCommand, StopsWhenTheContextIsFull) {
    const auto outcome = minfer_says({"run", model, "Hi", "-n", "-1", "--ignore-eos", "-c", "16"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("stopped: context full"));
}

TEST_F(RunCommand, GoesOnPastAFullContextWhenToldTo) {
    const auto outcome = minfer_says({"run", model, "Hi", "-n", "60", "--ignore-eos", "-c", "16",
                                      "--context-shift", "--keep", "-1"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("generated 60 tokens"));
    EXPECT_THAT(outcome.err, HasSubstr("stopped: token limit"));
    EXPECT_THAT(outcome.err, testing::ContainsRegex("context full: [0-9]+ tokens forgotten"));
    const auto most =
        minfer_says({"run", model, "Hi", "-c", "16", "--context-shift", "--keep", "15"});
    EXPECT_EQ(most.code, 1);
    EXPECT_THAT(error_line(most),
                HasSubstr("--keep 15: at most 14 of a context of 16 can be kept"));
}

TEST_F(RunCommand, KeepsTheEvaluatedPromptInAFile) {
    const auto file = (dir.path() / "prompt.kv").string();
    const auto ask = [&](const std::string& prompt, std::vector<std::string> more = {}) {
        auto args = std::vector<std::string>{
            "run", model, prompt, "-n", "12", "--greedy", "--ignore-eos", "--prompt-cache", file};
        args.insert(args.end(), more.begin(), more.end());
        return minfer_says(args);
    };
    const auto plain =
        minfer_says({"run", model, "Hello there", "-n", "12", "--greedy", "--ignore-eos"});
    const auto first = ask("Hello there");
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(first.out, plain.out);
    EXPECT_THAT(first.err, Not(HasSubstr("from the cache")));
    const auto again = ask("Hello there");
    EXPECT_EQ(again.out, plain.out);
    EXPECT_THAT(again.err, HasSubstr("prompt 10 tokens (9 from the cache)"));
    const auto longer = ask("Hello there, you", {"--prompt-cache-ro"});
    EXPECT_EQ(longer.out, minfer_says({"run", model, "Hello there, you", "-n", "12", "--greedy",
                                       "--ignore-eos"})
                              .out);
    EXPECT_THAT(longer.err, HasSubstr("(10 from the cache)"));
    const auto kept = std::filesystem::file_size(file);
    const auto only_read = ask("Yes", {"-c", "100", "-ro"});
    EXPECT_EQ(only_read.code, 0);
    EXPECT_THAT(only_read.err, HasSubstr("prompt cache not used: "));
    EXPECT_EQ(std::filesystem::file_size(file), kept);
    const auto other = ask("Yes", {"-c", "100"});
    EXPECT_EQ(other.code, 0);
    EXPECT_THAT(other.err, HasSubstr("prompt cache not used, and to be replaced: "));
    EXPECT_THAT(ask("Yes", {"-c", "100"}).err, HasSubstr("(2 from the cache)"));
}

// What was shifted cannot be used again; the prompt can.
TEST_F(RunCommand, AShiftCostsNothingOfTheKeptPrompt) {
    const auto file = (dir.path() / "prompt.kv").string();
    for (const std::string all : {"--prompt-cache-all", "--no-perf"}) {
        std::filesystem::remove(file);
        const auto ask = [&] {
            return minfer_says({"run", model, "Hello there", "-n", "60", "--ignore-eos", "-c", "16",
                                "--context-shift", "--prompt-cache", file, all});
        };
        EXPECT_EQ(ask().code, 0);
        EXPECT_THAT(ask().err, HasSubstr("9 tokens of the prompt need not be evaluated"));
    }
}

TEST_F(RunCommand, NeverWritesAPromptCacheOverSomethingElse) {
    const auto file = dir.path() / "letter.txt";
    std::ofstream(file) << "Dear reader, this is no session.";
    const auto refused = minfer_says({"run", model, "Hi", "--prompt-cache", file.string()});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(error_line(refused), HasSubstr("letter.txt: is not a session file"));
    EXPECT_EQ(std::filesystem::file_size(file), 32u);
    const auto missing =
        minfer_says({"run", model, "Hi", "--prompt-cache", "/nowhere/x", "--prompt-cache-ro"});
    EXPECT_EQ(missing.code, 1);
    for (const auto& place : {std::string("/nowhere/x"), dir.path().string()}) {
        const auto unwritable = minfer_says({"run", model, "Hi", "--prompt-cache", place});
        EXPECT_EQ(unwritable.code, 1);
        EXPECT_THAT(unwritable.out, IsEmpty()) << "found out before anything is said";
        EXPECT_THAT(error_line(unwritable), HasSubstr(place));
    }
    EXPECT_THAT(error_line(minfer_says({"run", model, "Hi", "--prompt-cache", ""})),
                HasSubstr("the name of the file is empty"));
    EXPECT_THAT(error_line(minfer_says({"run", model, "Hi", "--keep", "5"})),
                HasSubstr("--keep needs --context-shift"));
    const auto alone = minfer_says({"run", model, "Hi", "--prompt-cache-ro"});
    EXPECT_EQ(alone.code, 2);
    EXPECT_THAT(error_line(alone), HasSubstr("--prompt-cache-ro needs --prompt-cache FILE"));
}

TEST_F(RunCommand, RefusesWhatDoesNotFit) {
    const auto large = minfer_says({"run", model, "Hi", "-c", "257"});
    EXPECT_EQ(large.code, 1);
    EXPECT_THAT(error_line(large), HasSubstr("257"));
    EXPECT_THAT(error_line(large), HasSubstr("trained with 256"));
    const auto longer = minfer_says({"run", model, std::string(20, 'x'), "-c", "16"});
    EXPECT_EQ(longer.code, 1);
    EXPECT_THAT(error_line(longer), HasSubstr("the prompt has 20 tokens, the context holds 16"));
    EXPECT_THAT(longer.out, IsEmpty());
}

TEST_F(RunCommand, TheLoadLineSaysTheTypeAndBytesOfTheCache) {
    const auto load = minfer_says({"run", model, "Hi", "-n", "1", "-c", "100"});
    EXPECT_THAT(load.err, HasSubstr("context 100 tokens with f32 KV 25.00 KiB"));
}

TEST_F(RunCommand, PackedCellsThatAreNoWholeBlocksAreRefusedWithTheirWidth) {
    for (auto args :
         {std::vector<std::string>{"run"}, {"graph"}, {"bench", "-p", "8", "-n", "0"}}) {
        args.insert(args.end(), {model, "-ctk", "q8_0"});
        const auto outcome = minfer_says(args);
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(error_line(outcome),
                    HasSubstr("a q8_0 KV cache takes cells of a multiple of 32 elements, this "
                              "model's have 16 (1 KV heads of 16)"))
            << args[0];
    }
}

TEST_F(RunCommand, RefusesPromptsThatAreNotUtf8WithTheOffset) {
    const auto outcome = minfer_says({"run", model}, {.input = "abc\xff"
                                                               "def"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(error_line(outcome), "error: prompt: byte 3 (0xff) is not valid UTF-8");
}

TEST_F(RunCommand, StartsAnEmptyPromptFromTheTokenThatBeginsAText) {
    const auto outcome = minfer_says({"run", model, "", "-n", "3", "--greedy"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("prompt 1 token,"));
}

TEST_F(RunCommand, SaysTheErrorOfARefusedInputLast) {
    const auto refuses = [&](std::vector<std::string> args, const std::string& message) {
        args.insert(args.begin(), {"run", model});
        // The note on the variable is held back too.
        const auto outcome = minfer_says(args, {.environment = {{"MINFER_THREAD", "2"}}});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(outcome.err, testing::EndsWith(error_line(outcome) + "\n"));
        EXPECT_THAT(error_line(outcome), HasSubstr(message));
        EXPECT_THAT(outcome.err, Not(HasSubstr("device cpu")));
        EXPECT_THAT(outcome.err, Not(HasSubstr("continued as it is")));
        EXPECT_THAT(outcome.err, HasSubstr("MINFER_THREAD"));
    };
    refuses({"Hi", "-l", "5000+1"}, "token id 5000");
    refuses({"Hi", "-sys", "s"}, "need a chat template");
    refuses({"Hi", "--chat-template", "nosuch"}, "'nosuch' is neither");
    refuses({"", "--chat-template", "chatml"}, "the prompt is empty");
    refuses({"Hi", "--chat-template", "{{ nosuch() }}"}, "chat template");
    refuses({std::string(20, 'x'), "--no-template", "-c", "16"}, "20 tokens");
    write_small_model(model, {.known_tokenizer = false});
    refuses({"Hi"}, "quill");
}

TEST_F(RunCommand, BansTokensAndKnowsTheVocabulary) {
    const auto unknown = minfer_says({"run", model, "Hi", "-l", "5000+1"});
    EXPECT_EQ(unknown.code, 1);
    EXPECT_THAT(error_line(unknown), HasSubstr("token id 5000, the vocabulary has 258"));
    // With every letter but 'A' out of reach the answer is known.
    const auto forced = minfer_says(
        {"run", model, "Hi", "-n", "4", "--greedy", "-l", "65+1000", "--repeat-penalty", "1"});
    EXPECT_EQ(forced.out, "AAAA");
    const auto banned = minfer_says({"run", model, "Hi", "-n", "4", "--greedy", "-l", "65+1000",
                                     "-l", "66:999", "-l", "65=false", "--repeat-penalty", "1"});
    EXPECT_EQ(banned.out, "BBBB");
}

TEST_F(RunCommand, TakesTheTemperatureFromFlagThenFile) {
    write_small_model(model, {.temperature_hint = 0.f});
    const auto hinted = minfer_says({"run", model, "Hi", "-n", "20"});
    EXPECT_EQ(hinted.out, minfer_says({"run", model, "Hi", "-n", "20", "--greedy"}).out);
    EXPECT_THAT(minfer_says({"run", model, "Hi", "-n", "1", "--temp", "1"}).err, HasSubstr("seed"));
}

TEST_F(RunCommand, AppliesTheModelsTemplateUnlessToldNotTo) {
    write_small_model(model, {.chat_template = "{% for m in messages %}[{{ m.role }}:{{ m.content "
                                               "}}]{% endfor %}{% if enable_thinking is defined "
                                               "%}<{{ enable_thinking }}>{% endif %}{{ extra }}"});
    const auto shown = [&](std::vector<std::string> more) {
        std::vector<std::string> args = {"run", model, "Hi", "-n", "0", "--display-prompt"};
        args.insert(args.end(), more.begin(), more.end());
        const auto outcome = minfer_says(args);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.out;
    };
    EXPECT_EQ(shown({}), "[user:Hi]");
    EXPECT_EQ(shown({"-sys", "Be kind"}), "[system:Be kind][user:Hi]");
    EXPECT_EQ(shown({"--reasoning", "off"}), "[user:Hi]<False>");
    EXPECT_EQ(shown({"--chat-template-kwargs", R"({"extra": "!"})"}), "[user:Hi]!");
    EXPECT_EQ(shown({"--no-template"}), "Hi");
    EXPECT_EQ(shown({"--chat-template", "{{ messages[0].content }}?"}), "Hi?");
    EXPECT_EQ(shown({"--chat-template", "chatml"}).substr(0, 23), "<|im_start|>user\nHi<|im");
    const auto empty = minfer_says({"run", model, ""});
    EXPECT_EQ(empty.code, 1);
    EXPECT_EQ(error_line(empty), "error: the prompt is empty");
    EXPECT_THAT(error_line(minfer_says({"run", model, "Hi", "--chat-template", "llama3"})),
                HasSubstr("'llama3' is neither Jinja text nor one of the names known here"));
}

TEST_F(RunCommand, SaysWhatHappensWithoutATemplate) {
    EXPECT_THAT(minfer_says({"run", model, "Hi", "-n", "0"}).err, HasSubstr("continued as it is"));
    EXPECT_THAT(error_line(minfer_says({"run", model, "Hi", "-sys", "s"})),
                HasSubstr("need a chat template"));
    write_small_model(model, {.chat_tokens = true});
    const auto chatml = minfer_says({"run", model, "Hi", "-n", "0", "--display-prompt", "-sp"});
    EXPECT_THAT(chatml.err, HasSubstr("ChatML is used"));
    EXPECT_EQ(chatml.out, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    EXPECT_EQ(minfer_says({"run", model, "Hi", "-n", "0", "--display-prompt"}).out,
              "user\nHi\nassistant\n");
}

TEST_F(RunCommand, ChecksWeightsWhenAsked) {
    write_small_model(model, {.spoiled = true});
    const auto outcome = minfer_says({"run", model, "Hi", "--check-tensors"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(error_line(outcome), HasSubstr("tensor 'output_norm.weight'"));
}

TEST_F(RunCommand, PointsFromBrokenResultsToTheWeights) {
    write_small_model(model, {.spoiled = true});
    const auto outcome = minfer_says({"run", model, "Hi"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(error_line(outcome), HasSubstr("the logit of token 0 is"));
    EXPECT_THAT(error_line(outcome), HasSubstr("(--check-tensors tells"));
}

TEST_F(RunCommand, SaysWhatWasSetForAGpuThatIsNotInUse) {
    const auto run = [&](std::vector<std::string> flags, ProcessOptions options) {
        flags.insert(flags.begin(), {"run", model, "Hi", "-n", "0", "--device", "cpu"});
        return minfer_says(flags, options).err;
    };
    EXPECT_THAT(run({"-ngl", "3"}, {}), HasSubstr("; -ngl 3: no GPU device is in use"));
    EXPECT_THAT(run({}, {.environment = {{"MINFER_GPU_LAYERS", "3"}}}),
                HasSubstr("; MINFER_GPU_LAYERS=3: no GPU device is in use"));
    EXPECT_THAT(run({"--device-timeout", "5"}, {.environment = {{"MINFER_METALLIB", "x.metal"},
                                                                {"MINFER_TRACE_LABELS", "1"},
                                                                {"SOFTMETAL_CHECKS", "all"}}}),
                HasSubstr("; --device-timeout, MINFER_METALLIB, MINFER_TRACE_LABELS, "
                          "SOFTMETAL_CHECKS: no GPU device is in use"));
    EXPECT_THAT(run({"-ngl", "0"}, {}), Not(HasSubstr("no GPU")));
    const auto unknown =
        run({}, {.environment = {{"SOFTMETAL_CHECK", "all"}, {"SOFTMETAL_CACHE", "/tmp"}}});
    EXPECT_THAT(unknown, HasSubstr("note: environment variable SOFTMETAL_CHECK is not used"));
    EXPECT_THAT(unknown, Not(HasSubstr("SOFTMETAL_CACHE")));
}

TEST_F(RunCommand, ReadsTheEnvironmentAndLetsFlagsWin) {
    const auto small =
        ProcessOptions{.environment = {{"MINFER_CTX_SIZE", "16"}, {"MINFER_THREADS", "1"}}};
    const auto told = minfer_says({"run", model, "Hi", "-n", "0"}, small);
    EXPECT_THAT(told.err, HasSubstr("context 16 tokens"));
    EXPECT_THAT(told.err, HasSubstr("1 thread)"));
    EXPECT_THAT(minfer_says({"run", model, "Hi", "-n", "0", "-c", "32"}, small).err,
                HasSubstr("context 32 tokens"));
    EXPECT_THAT(
        minfer_says({"run", model, "Hi", "-n", "0"}, {.environment = {{"MINFER_CPU_ACT", "f32"}}})
            .err,
        HasSubstr("exact activations"));
}

std::string read_text(const std::filesystem::path& path) {
    auto file = std::ifstream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(RunCommand, KeepsALogFile) {
    const auto log = dir.path() / "log.txt";
    const auto outcome = minfer_says({"run", model, "Hi", "-n", "0", "--log-file", log.string()});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(read_text(log), outcome.err);
}

TEST_F(RunCommand, ReportsThatStdoutCannotBeWritten) {
    const int full = ::open("/dev/full", O_WRONLY);
    if (full >= 0) {  // there is none on macOS
        const auto outcome = minfer_says({"run", model, "Hi"}, {.stdout_descriptor = full});
        ::close(full);
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(error_line(outcome), HasSubstr("error: stdout: cannot write"));
    }
}

// The number of a closed stream goes to the next file that is opened: nothing may be written there
// as if it were stdout.
TEST_F(RunCommand, ReportsThatAStandardStreamIsClosed) {
    const auto log = (dir.path() / "log").string();
    const auto no_out =
        minfer_says({"run", model, "Hi", "--log-file", log}, {.closed = {STDOUT_FILENO}});
    EXPECT_EQ(no_out.code, 1);
    EXPECT_THAT(error_line(no_out), HasSubstr("error: stdout: cannot write"));
    EXPECT_EQ(read_text(log), no_out.err);
    const auto no_in = minfer_says({"run", model}, {.closed = {STDIN_FILENO}});
    EXPECT_EQ(no_in.code, 1);
    EXPECT_THAT(error_line(no_in), HasSubstr("error: stdin: "));
}

TEST_F(RunCommand, EndsQuietlyWhenNobodyReadsOn) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    const auto outcome = minfer_says({"run", model, "Hi"}, {.stdout_descriptor = ends[1]});
    ::close(ends[1]);
    EXPECT_EQ(outcome.code, 141);
    EXPECT_THAT(outcome.err, Not(HasSubstr("error")));
}

TEST_F(RunCommand, StopsCleanlyAtCtrlC) {
    write_small_model(model, {.n_ctx = 1 << 20});
    Process process(command({"run", model, "Hi", "-n", "-1", "--ignore-eos", "-c", "200000"}));
    while (process.running() && process.out().empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(SIGINT);
    EXPECT_EQ(process.wait(), 130);
    EXPECT_THAT(process.err(), HasSubstr("stopped: interrupted"));
}

TEST_F(RunCommand, EndsAtTheFirstCtrlCWhileItWaitsForInput) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    Process process(command({"run", model, "-"}), {.stdin_descriptor = ends[0]});
    // Whenever the signal comes it has to end the process; after this long it is waiting.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    process.send(SIGINT);
    for (int i = 0; process.running() && i < 1000; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(process.running()) << "still waiting for input";
    ::close(ends[0]);
    ::close(ends[1]);
    if (!process.running()) EXPECT_EQ(process.wait(), 130);
}

TEST_F(RunCommand, CountsOnlyWhatAnInterruptedPromptEvaluated) {
    write_small_model(model, {.n_ctx = 1 << 20});
    Process process(command({"run", model, "-c", "16384", "-ub", "1"}),
                    {.input = std::string(16000, 'x')});
    while (process.running() && process.err().find("seed") == std::string::npos)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(SIGINT);
    EXPECT_EQ(process.wait(), 130);
    EXPECT_THAT(process.err(),
                testing::ContainsRegex("prompt [0-9]+ of 16000 tokens, [0-9.]+ tok/s; generated 0 "
                                       "tokens; stopped: interrupted"));
}

TEST_F(RunCommand, EndsAtOnceAtTheSecondCtrlC) {
    // One graph of 16,000 tokens takes long and asks nobody whether to go on.
    write_small_model(model, {.n_ctx = 1 << 20});
    Process process(command({"run", model, "-c", "16384", "-ub", "16384"}),
                    {.input = std::string(16000, 'x')});
    while (process.running() && process.err().find("seed") == std::string::npos)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.send(SIGINT);
    process.send(SIGINT);
    // Two equal signals sent together may arrive as one.
    for (int i = 0; process.running() && i < 50; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        process.send(SIGINT);
    }
    EXPECT_EQ(process.wait(), 130);
    EXPECT_THAT(process.err(), Not(HasSubstr("stopped:")));
}

TEST_F(RunCommand, AsksWhichOfSeveralModelsInAFolder) {
    write_small_model(dir.path() / "other.gguf");
    const auto outcome = minfer_says({"run", dir.path().string(), "Hi"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(error_line(outcome), HasSubstr("2 models in this folder"));
    EXPECT_THAT(outcome.err, HasSubstr("other.gguf"));
}

}  // namespace
}  // namespace minfer
