#include "apps/program.h"

namespace minfer {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A bad command line: exit 2, nothing on stdout, this error line first on stderr.
void refuses(std::vector<std::string> args, const std::string& message,
             const ProcessOptions& options = {}) {
    const auto outcome = minfer_says(args, options);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("error: "));
    EXPECT_THAT(error_line(outcome), HasSubstr(message));
}

TEST(CommandLine, HelpGoesToStdoutAndSucceeds) {
    for (const auto& args : std::vector<std::vector<std::string>>{{"--help"},
                                                                  {"-h"},
                                                                  {"help"},
                                                                  {"help", "run"},
                                                                  {"help", "help"},
                                                                  {"run", "-h"},
                                                                  {"bench", "--help"},
                                                                  {"info", "-h"},
                                                                  {"graph", "-h"},
                                                                  {"tokenize", "-h"},
                                                                  {"run", "--bogus", "--help"}}) {
        const auto outcome = minfer_says(args);
        EXPECT_EQ(outcome.code, 0) << args.front();
        EXPECT_THAT(outcome.out, HasSubstr("minfer"));
        EXPECT_THAT(outcome.err, IsEmpty());
    }
}

TEST(CommandLine, HelpListsTheEnvironment) {
    EXPECT_THAT(minfer_says({"--help"}).out, HasSubstr("MINFER_CPU_ACT"));
    EXPECT_THAT(minfer_says({"help", "environment"}).out, HasSubstr("MINFER_THREADS"));
}

TEST(CommandLine, VersionNamesTheBuild) {
    const auto outcome = minfer_says({"-V"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, testing::MatchesRegex("minfer [0-9.]+ \\([0-9a-z]+\\)\n"));
}

TEST(CommandLine, MistakesAreUsageErrorsNamingTheFlag) {
    refuses({}, "no command and no model given");
    refuses({"run"}, "no model given");
    refuses({"run", "m.gguf", "x", "--tempp", "1"}, "unknown flag --tempp; did you mean --temp?");
    refuses({"run", "m.gguf", "x", "-zz"}, "unknown flag -zz");
    refuses({"run", "m.gguf", "x", "-prompt", "y"}, "unknown flag -prompt; did you mean --prompt?");
    refuses({"run", "m.gguf", "x", "-n"}, "-n needs a value");
    refuses({"run", "m.gguf", "x", "-n", "12x"}, "--n-predict: '12x' is not a whole number");
    refuses({"run", "m.gguf", "x", "-n", "-2"}, "--n-predict: '-2' is not a whole number");
    refuses({"run", "m.gguf", "x", "-c", "-1"}, "--ctx-size: '-1' is not a whole number");
    refuses({"run", "m.gguf", "x", "-c", "99999999999999999999"}, "--ctx-size");
    refuses({"run", "m.gguf", "x", "--temp", "-0.1"}, "--temp: '-0.1' is not a number");
    refuses({"run", "m.gguf", "x", "--temp", "nan"}, "--temp: 'nan' is not a number");
    refuses({"run", "m.gguf", "x", "--top-p", "1.5"}, "--top-p: '1.5'");
    refuses({"run", "m.gguf", "x", "-l", "five"}, "--logit-bias: 'five'");
    refuses({"run", "m.gguf", "x", "--no-perf=1"}, "--no-perf takes no value");
    refuses({"run", "m.gguf", "x", "-t", "0"}, "--threads: '0'");
    refuses({"run", "m.gguf", "x", "y"}, "unexpected argument 'y'");
    refuses({"run", "m.gguf", "x", "-p", "y"}, "given twice");
    refuses({"run", "m.gguf", "-p", "y", "-f", "z"}, "both as text and as a file");
    refuses({"run", "m.gguf", "x", "--stop", ""}, "--stop: the text is empty");
    refuses({"run", "m.gguf", "x", "--chat-template-kwargs", "[1]"}, "not a JSON object");
    refuses({"run", "m.gguf", "x", "--no-template", "-sys", "s"}, "--no-template");
    refuses({"run", "m.gguf", "x", "--device", "tpu"}, "'tpu' is not one of none, cpu");
    refuses({"run", "m.gguf", "x", "--device", ""}, "'' is not one of none, cpu");
    refuses({"run", "m.gguf", "x", "--device", "cpu, TPU"}, "'TPU' is not one of none, cpu");
    refuses({"run", "m.gguf", "x", "--device", "gpu"}, "(known, but not built: ");
    refuses({"run", "m.gguf", "x", "--device-timeout", "0"}, "--device-timeout: '0'");
    refuses({"run", "m.gguf", "x", "--device-timeout", "soon"}, "--device-timeout: 'soon'");
    refuses({"run", "m.gguf", "x", "-fa", "maybe"}, "'maybe' is not one of on, off, auto");
    refuses({"run", "m.gguf", "x", "-ngl", "-2"}, "--gpu-layers: '-2' is not a number of layers");
    refuses({"bench", "m.gguf", "-p", "5-1"}, "--n-prompt: '5-1'");
    refuses({"bench", "m.gguf", "-p", "0", "-n", "0"}, "no tests");
    refuses({"bench", "m.gguf", "-o", "xml"}, "'xml' is not one of md, csv, json, jsonl");
    refuses({"graph", "m.gguf", "--phase", "train"}, "'train' is not one of prefill, decode");
    refuses({"info", "a.gguf", "-m", "b.gguf"}, "two models given");
    refuses({"info"}, "no model given");
    refuses({"tokenize", "m.gguf", "x", "--stdin"}, "more than one way");
    refuses({"tokenize", "m.gguf", "x", "--ids", "--json"}, "--ids and --json exclude each other");
    for (const std::string other : {"--json", "--kv", "--tensors", "--ctx=5"})
        refuses({"info", "m.gguf", "--template", other}, "--template prints nothing else");
}

TEST(CommandLine, AMistypedCommandIsNotTakenForAFile) {
    refuses({"frobnicate"}, "'frobnicate' is neither a command nor a file; the commands are run, ");
    refuses({"tokenise", "m.gguf"},
            "'tokenise' is neither a command nor a file; did you mean tokenize?");
    refuses({"help", "bogus"}, "'bogus' is not a command; the commands are run, ");
    refuses({"help", "serve"}, "not supported yet by this build: serve");
    // What looks like a file, or like a place models come from, is one.
    for (const std::string path : {"missing.gguf", "folder/missing", "ollama:missing"})
        EXPECT_EQ(minfer_says({path, "x"}).code, 1) << path;
}

TEST(CommandLine, AnEmptyPathIsCalledThat) {
    for (const std::string name : {"run", "bench", "info", "tokenize"}) {
        const auto outcome = minfer_says({name, ""});
        EXPECT_EQ(outcome.code, 1) << name;
        EXPECT_EQ(outcome.err, "error: the model's path is empty\n") << name;
    }
}

TEST(CommandLine, WhatIsNotBuiltYetSaysSo) {
    refuses({"chat", "m.gguf"}, "not supported yet by this build: chat");
    refuses({"serve", "m.gguf"}, "not supported yet by this build: serve");
    refuses({"run", "m.gguf", "x", "--grammar", "g"}, "not supported yet by this build: --grammar");
    refuses({"run", "m.gguf", "x", "-md", "d"}, "not supported yet by this build: -md");
    refuses({"run", "m.gguf", "x", "--no-mmap"}, "not supported yet by this build: --no-mmap");
    refuses({"run", "m.gguf", "x", "--load-mode", "none"}, "'none' is not supported yet");
}

TEST(CommandLine, CacheTypesAreStrictAndOneForKeysAndValues) {
    const std::vector<std::string> run = {"run", "missing.gguf", "x"};
    const auto with = [&](std::vector<std::string> more) {
        auto args = run;
        args.insert(args.end(), more.begin(), more.end());
        return args;
    };
    for (const std::string flag : {"--cache-type", "-ctk", "-ctv"}) {
        for (const std::string type : {"bf16", "q4_0", "F16", "q8_0 ", ""})
            refuses(with({flag, type}),
                    "'" + type + "' is not a cache type of this build, which has f32, f16, q8_0");
        for (const std::string type : {"f32", "f16", "q8_0"})
            EXPECT_EQ(minfer_says(with({flag, type})).code, 1) << flag << " " << type;
    }
    refuses(run, "environment variable MINFER_CACHE_TYPE: 'bf16' is not a cache type",
            {.environment = {{"MINFER_CACHE_TYPE", "bf16"}}});
    refuses(with({"-ctk", "f16", "-ctv", "q8_0"}),
            "--cache-type-v: 'q8_0': keys and values have one type in this build, and the other "
            "is f16");
    refuses(with({"--cache-type", "f16", "-ctk", "f32"}), "--cache-type-k: 'f32': keys and values");
    EXPECT_EQ(minfer_says(with({"-ctk", "f16", "-ctv", "f16"})).code, 1);
    EXPECT_EQ(minfer_says(with({"-ctk", "f16", "-ctk", "f32"})).code, 1);
}

TEST(CommandLine, ADeviceMayHaveBlanksAroundItAndTheMissingOneLeadsToThoseThereAre) {
    const auto fails = [](std::string device) {
        return error_line(minfer_says({"run", "missing.gguf", "x", "--device", device}));
    };
    EXPECT_EQ(fails(" cpu , none"), "error: missing.gguf: no such file");
    EXPECT_THAT(fails("cuda"),
                StartsWith("error: --device: backend 'cuda' is not part of this build, which has: "
                           "cpu"));
}

TEST(CommandLine, AValueIsNeverTakenForAFlag) {
    // The prompt is "--grammar": the line is fine and only the file is missing.
    const auto outcome = minfer_says({"run", "missing.gguf", "-p", "--grammar"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(error_line(outcome), "error: missing.gguf: no such file");
}

TEST(CommandLine, BadVariablesAreUsageErrorsNamingValueAndChoices) {
    const auto with = [](std::string name, std::string value) {
        return ProcessOptions{.environment = {{std::move(name), std::move(value)}}};
    };
    const std::vector<std::string> args = {"run", "m.gguf", "x"};
    refuses(args, "environment variable MINFER_THREADS: 'many'", with("MINFER_THREADS", "many"));
    refuses(args, "environment variable MINFER_CPU_ACT: 'f16' is not one of quantized, f32",
            with("MINFER_CPU_ACT", "f16"));
    for (const std::string name : {"MINFER_DISABLE_METAL",
                                   "MINFER_DISABLE_MPS",
                                   "MINFER_NO_FUSE_QKV",
                                   "MINFER_NO_FUSE_FFN",
                                   "MINFER_CONCAT_WEIGHTS",
                                   "MINFER_WEIGHT_COPY",
                                   "MINFER_GEMM",
                                   "MINFER_GEMM_F32",
                                   "MINFER_NO_FLOAT_GEMM",
                                   "MINFER_NO_MULTI_COLUMN",
                                   "MINFER_NO_RMS_256",
                                   "MINFER_NO_FLASH",
                                   "MINFER_NO_SPLIT_ATTN",
                                   "MINFER_NO_PREFILL_FLASH",
                                   "MINFER_NO_MATMUL_ATTN",
                                   "MINFER_NO_WINDOW_FLASH",
                                   "MINFER_PACKED_KV_STAGE",
                                   "MINFER_NO_ATTN_EARLY_STOP",
                                   "MINFER_NO_ATTN_TILE_SKIP",
                                   "MINFER_NO_FLASH_HEADS",
                                   "MINFER_Q8_0_BLOCKS",
                                   "MINFER_NO_ATTN_SHARE_KV",
                                   "MINFER_TRACE_LABELS"})
        refuses(args, "environment variable " + name + ": 'yes' is not one of 1, 0, true",
                with(name, "yes"));
    for (const std::string chunks : {"0", "129", "8x", "-1"})
        refuses(args,
                "environment variable MINFER_ATTN_CHUNKS: '" + chunks +
                    "' is not a whole number from 1 to 128",
                with("MINFER_ATTN_CHUNKS", chunks));
    refuses(args,
            "environment variable MINFER_METALLIB_FILE: 'b' is not the file that MINFER_METALLIB "
            "names, 'a'",
            {.environment = {{"MINFER_METALLIB", "a"}, {"MINFER_METALLIB_FILE", "b"}}});
    refuses(args, "environment variable SOFTMETAL_CHECKS: 'some' is not one of off, bounds, all",
            with("SOFTMETAL_CHECKS", "some"));
    refuses(args, "environment variable MINFER_CACHE_TYPE: 'f64'",
            with("MINFER_CACHE_TYPE", "f64"));
    refuses(args, "environment variable MINFER_BACKENDS: 'npu'", with("MINFER_BACKENDS", "npu"));
    refuses(args, "environment variable MINFER_CTX_SIZE: '-5'", with("MINFER_CTX_SIZE", "-5"));
    EXPECT_EQ(minfer_says({"--help"}, with("MINFER_THREADS", "many")).code, 0);
}

TEST(CommandLine, UnusedVariablesAreNotedBeforeAnError) {
    for (const std::string name : {"run", "bench"}) {
        const auto outcome =
            minfer_says({name, "missing.gguf"}, {.environment = {{"MINFER_THREAD", "2"}}});
        EXPECT_EQ(error_line(outcome), "error: missing.gguf: no such file");
        EXPECT_THAT(outcome.err, EndsWith("\n" + error_line(outcome) + "\n"));
        EXPECT_THAT(outcome.err, HasSubstr("MINFER_THREAD is not used by this build"));
    }
}

TEST(CommandLine, ADeviceThatIsNotBuiltIsRefusedBeforeTheFileIsOpened) {
    const auto named = minfer_says({"run", "missing.gguf", "x", "--device", "cuda"});
    EXPECT_EQ(named.code, 1);
    EXPECT_THAT(error_line(named), testing::AllOf(HasSubstr("--device"), HasSubstr("cuda")));
    const auto fenced =
        minfer_says({"run", "missing.gguf", "x"}, {.environment = {{"MINFER_BACKENDS", "cuda"}}});
    EXPECT_EQ(fenced.code, 1);
    EXPECT_THAT(error_line(fenced), HasSubstr("MINFER_BACKENDS"));
    // The flag wins over the variable.
    const auto won = minfer_says({"run", "missing.gguf", "x", "--device", "cpu"},
                                 {.environment = {{"MINFER_BACKENDS", "cuda"}}});
    EXPECT_EQ(error_line(won), "error: missing.gguf: no such file");
}

TEST(CommandLine, FilesThatCannotBeModelsAreRefused) {
    TempDir dir;
    EXPECT_EQ(minfer_says({"run", dir.path().string(), "x"}).code, 1);
    EXPECT_THAT(error_line(minfer_says({"run", "hf:a/b", "x"})), HasSubstr("downloading hf:a/b"));
    const auto path = dir.path() / "junk.gguf";
    std::FILE* const file = std::fopen(path.c_str(), "w");
    std::fputs("this is not a model", file);
    std::fclose(file);
    for (const std::string name : {"run", "bench", "info", "graph", "tokenize"}) {
        const auto outcome = minfer_says({name, path.string()});
        EXPECT_EQ(outcome.code, 1) << name;
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_THAT(error_line(outcome), HasSubstr("junk.gguf")) << name;
    }
}

}  // namespace
}  // namespace minfer
