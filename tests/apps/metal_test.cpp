// The program on a Metal device: the software one, or a Mac's.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/program.h"
#include "random_model/random_model.h"

namespace minfer {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using MetalDevice = WithModel;

ProcessOptions with(std::string name, std::string value) {
    return {.environment = {{std::move(name), std::move(value)}}};
}

TEST_F(MetalDevice, AnswersLikeTheExactCpu) {
    const auto answer = [&](std::string device) {
        return minfer_says({"run", model, "Once", "-n", "24", "--greedy", "--device", device},
                           with("MINFER_CPU_ACT", "f32"));
    };
    const auto metal = answer("metal"), cpu = answer("cpu");
    ASSERT_EQ(metal.code, 0) << metal.err;
    EXPECT_EQ(metal.out, cpu.out);
    EXPECT_THAT(metal.err, AllOf(HasSubstr("device metal ("), HasSubstr("all 2 blocks there")));
    EXPECT_THAT(cpu.err, Not(HasSubstr("metal")));
}

TEST_F(MetalDevice, TheGraphIsOnItWholeOrNotAtAll) {
    const auto homes = [&](std::string phase, std::string device) {
        const auto outcome =
            minfer_says({"graph", model, "--phase", phase, "--format", "json", "--device", device});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::map<std::string, size_t> count;
        for (const auto& node : json::parse(outcome.out)["nodes"]) ++count[node["backend"]];
        return count;
    };
    for (const std::string phase : {"prefill", "decode"}) {
        auto metal = homes(phase, "metal"), cpu = homes(phase, "cpu");
        EXPECT_EQ(metal["cpu"], 0u) << phase;
        EXPECT_GT(metal["metal"], 30u) << phase;
        EXPECT_EQ(cpu["metal"], 0u) << phase;
        EXPECT_GT(cpu["cpu"], 30u) << phase;
    }
    EXPECT_THAT(minfer_says({"run", model, "x", "-n", "1", "--device", "metal"}).err,
                Not(HasSubstr("except what it does not run")));
}

TEST(MetalStory, ADecodeStepIsFusedUnlessSwitchedOff) {
    using Count = std::map<std::string, size_t>;
    const auto decode = [](const ProcessOptions& options) {
        const auto outcome = minfer_says({"graph", MINFER_STORY_MODEL, "--phase", "decode",
                                          "--format", "json", "--device", "metal"},
                                         options);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        Count count;
        for (const auto& node : json::parse(outcome.out)["nodes"]) {
            EXPECT_EQ(node["backend"], "metal") << node["name"];
            for (const std::string op : {"FusedQkvNorm", "FusedFfn", "KvStore", "SwiGlu"})
                count[op] += node["op"] == op;
        }
        return count;
    };
    constexpr size_t kBlocks = 11;
    EXPECT_EQ(
        decode({}),
        (Count{{"FusedQkvNorm", kBlocks}, {"FusedFfn", kBlocks}, {"KvStore", 0}, {"SwiGlu", 0}}));
    EXPECT_EQ(
        decode(with("MINFER_NO_FUSE_QKV", "1")),
        (Count{{"FusedQkvNorm", 0}, {"FusedFfn", kBlocks}, {"KvStore", kBlocks}, {"SwiGlu", 0}}));
    EXPECT_EQ(
        decode(with("MINFER_NO_FUSE_FFN", "1")),
        (Count{{"FusedQkvNorm", kBlocks}, {"FusedFfn", 0}, {"KvStore", 0}, {"SwiGlu", kBlocks}}));
}

TEST(MetalStory, DecodeReadsJoinedWeightsWhenAskedToAndAnswersTheSame) {
    const auto weights_of_a_node = [](std::string join) {
        const auto outcome = minfer_says({"graph", MINFER_STORY_MODEL, "--phase", "decode",
                                          "--format", "json", "--device", "metal"},
                                         with("MINFER_CONCAT_WEIGHTS", std::move(join)));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        std::set<size_t> counts;
        for (const auto& node : json::parse(outcome.out)["nodes"])
            if (node["op"] == "FusedFfn") counts.insert(node["weights"].size());
        return counts;
    };
    EXPECT_EQ(weights_of_a_node("0"), std::set<size_t>{2});  // gate and up
    EXPECT_EQ(weights_of_a_node("1"), std::set<size_t>{1});
    const auto answer = [](std::string device, std::string join) {
        return minfer_says({"run", MINFER_STORY_MODEL, "Once upon a time", "-n", "12", "--greedy",
                            "--device", device},
                           with("MINFER_CONCAT_WEIGHTS", std::move(join)));
    };
    const auto joined = answer("metal", "1"), separate = answer("metal", "0");
    ASSERT_EQ(joined.code, 0) << joined.err;
    EXPECT_EQ(joined.out, separate.out);
    EXPECT_THAT(joined.err, HasSubstr(" joined, context "));
    EXPECT_THAT(separate.err, Not(HasSubstr("joined")));
    EXPECT_THAT(answer("cpu", "1").err, Not(HasSubstr("joined")));
}

TEST_F(MetalDevice, ThePlanSaysHowMuchOfTheModelIsThere) {
    const auto plan = [&](std::string layers) {
        return minfer_says({"run", model, "x", "-n", "1", "--device", "metal", "-ngl", layers}).err;
    };
    EXPECT_THAT(plan("all"), HasSubstr("device metal ("));
    EXPECT_THAT(plan("auto"), HasSubstr("); all 2 blocks there"));
    EXPECT_THAT(plan("99"), HasSubstr("); all 2 blocks there"));
    EXPECT_THAT(plan("1"), HasSubstr("); the first 1 of 2 blocks there, the rest, embedding and "
                                     "head on cpu ("));
    EXPECT_THAT(plan("0"), AllOf(HasSubstr("device cpu ("), HasSubstr("all 2 blocks there"),
                                 HasSubstr("; -ngl 0: metal is not used")));
    // The device is not set up: nobody looks for its kernels.
    auto options = with("MINFER_METALLIB", "/nowhere/kernels.metal");
    options.environment["MINFER_GPU_LAYERS"] = "0";
    const auto none = minfer_says({"run", model, "x", "-n", "1", "--device", "metal"}, options);
    EXPECT_EQ(none.code, 0);
    EXPECT_THAT(none.err, HasSubstr("; MINFER_GPU_LAYERS=0: metal is not used; MINFER_METALLIB: no "
                                    "GPU device is in use"));
}

TEST_F(MetalDevice, ADeviceInSoftwareSaysSoWithItsChecksAndIsUsedOnlyWhenNamed) {
    const auto run = std::vector<std::string>{"run", model, "x", "-n", "1"};
    auto named = run;
    named.insert(named.end(), {"--device", "metal"});
    const auto plan = minfer_says(named).err;
    ASSERT_THAT(plan, HasSubstr("device metal ("));
    const bool software = plan.find(", software, ") != std::string::npos;
    EXPECT_THAT(minfer_says(run).err, HasSubstr(software ? "device cpu (" : "device metal ("));
    if (!software) return;
    EXPECT_THAT(plan, HasSubstr(", software, checks off)"));
    EXPECT_THAT(minfer_says(named, with("SOFTMETAL_CHECKS", "all")).err,
                HasSubstr(", software, checks all)"));
    EXPECT_THAT(minfer_says(run, with("MINFER_BACKENDS", "metal")).err,
                HasSubstr("device metal ("));
}

TEST_F(MetalDevice, DisablingItIsAnErrorWhenItIsNamedAndAReasonWhenItIsNot) {
    for (const std::string name : {"MINFER_DISABLE_METAL", "MINFER_DISABLE_MPS"}) {
        const auto named =
            minfer_says({"run", "missing.gguf", "x", "--device", "metal"}, with(name, "1"));
        EXPECT_EQ(named.code, 1);
        EXPECT_EQ(error_line(named),
                  "error: --device: backend 'metal' does not work here: disabled by " + name);
        // The other name for it does not take it back.
        auto both = with("MINFER_DISABLE_METAL", "0");
        both.environment["MINFER_DISABLE_MPS"] = "0";
        both.environment[name] = "1";
        EXPECT_EQ(error_line(minfer_says({"run", model, "x", "--device", "metal"}, both)),
                  error_line(named));
        EXPECT_EQ(minfer_says({"run", model, "x", "-n", "1"}, with(name, "1")).code, 0);
        const auto enabled =
            minfer_says({"run", model, "x", "-n", "1", "--device", "metal"}, with(name, "0"));
        EXPECT_THAT(enabled.err, HasSubstr("device metal (")) << name;
    }
}

TEST_F(MetalDevice, AModelWithATypeItDoesNotRunIsWholeOnTheCpuAndTheReasonIsSaid) {
    gguf::Writer writer;
    ASSERT_TRUE(add_random_model(writer, random_model_shapes()[1], DType::Q2_K));
    const auto path = (dir.path() / "q2.gguf").string();
    ASSERT_TRUE(writer.write(path));
    const auto outcome = minfer_says({"run", path, "x", "-n", "1", "--device", "metal"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("device cpu ("),
                                   HasSubstr("metal: weight 'blk.0.attn_k.weight' is Q2_K")));
    const auto graph = minfer_says({"graph", path, "--device", "metal", "--format", "json"});
    ASSERT_EQ(graph.code, 0) << graph.err;
    EXPECT_THAT(graph.err, StartsWith("note: metal: weight 'blk.0.attn_k.weight' is Q2_K"));
    for (const auto& node : json::parse(graph.out)["nodes"]) EXPECT_EQ(node["backend"], "cpu");
}

TEST_F(MetalDevice, AModelWithHeadsItHasNoKernelForIsWholeOnTheCpuAndTheReasonIsSaid) {
    const auto path = (dir.path() / "heads.gguf").string();
    const auto run = [&](size_t head_dim) {
        write_small_model(path, {.head_dim = head_dim});
        const auto outcome =
            minfer_says({"run", path, "three tokens", "-n", "2", "--device", "metal"});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.err;
    };
    for (const size_t head_dim : {2, 6, 10, 260})
        EXPECT_THAT(run(head_dim),
                    AllOf(HasSubstr("device cpu ("), HasSubstr("; metal: node 'blk.0.attn"),
                          HasSubstr(fmt::format("heads of {} elements, multiples of 4 up to 256 "
                                                "run on Metal",
                                                head_dim))));
    for (const size_t head_dim : {4, 12, 256})
        EXPECT_THAT(run(head_dim),
                    AllOf(HasSubstr("device metal ("), HasSubstr("all 2 blocks there")));
}

TEST_F(MetalDevice, DispatchesAreSaidWhenAskedFor) {
    const auto run = std::vector<std::string>{"run", model, "x", "-n", "1", "--device", "metal"};
    EXPECT_THAT(minfer_says(run, with("MINFER_TRACE_LABELS", "1")).err,
                HasSubstr("\ndispatch rms_norm"));
    EXPECT_THAT(minfer_says(run, with("MINFER_TRACE_LABELS", "0")).err,
                Not(HasSubstr("\ndispatch ")));
}

// Their nodes are not the same ones: a generated token runs fused nodes on the device.
TEST_F(MetalDevice, ATraceOfItAgreesWithTheExactCpuAndNamesWhatRoundingChanges) {
    const auto traced = [&](const std::string& file, std::string device, std::string activations) {
        const auto path = (dir.path() / file).string();
        const auto outcome = minfer_says(
            {"trace", model, "Once", "-n", "3", "-o", path, "--device", std::move(device)},
            with("MINFER_CPU_ACT", std::move(activations)));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return path;
    };
    const auto metal = traced("metal.json", "metal", "f32");
    const auto exact = traced("exact.json", "cpu", "f32");
    const auto same = minfer_says({"trace", "--compare", exact, metal});
    EXPECT_EQ(same.code, 0) << same.out << same.err;
    EXPECT_THAT(same.out, StartsWith("equal: 3 steps"));
    const auto close = minfer_says({"trace", "--compare", exact, metal, "--bound", "0"});
    EXPECT_EQ(close.code, 3) << "the control: they are not bit for bit the same";
    EXPECT_THAT(close.out, AllOf(HasSubstr("on cpu"), HasSubstr("on metal")));
}

TEST_F(MetalDevice, AProfileAndATimelineTellTheDevicesWaits) {
    const auto path = (dir.path() / "timeline.json").string();
    const auto outcome =
        minfer_says({"run", model, "Once", "-n", "2", "--device", "metal", "--profile-trace", path},
                    with("MINFER_OP_PROFILE", "1"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("(wait)        metal          2"),
                                   HasSubstr("profile of 2 steps")));
    auto in = std::ifstream(path);
    size_t splits = 0, encoded = 0;
    for (const auto& event : json::parse(in)) {
        if (event.value("cat", "") != "split") continue;
        splits += event["tid"] != 1;
        encoded += event["tid"] == 1;
    }
    EXPECT_EQ(splits, 2u);
    EXPECT_EQ(encoded, 2u);
}

TEST_F(MetalDevice, AKernelLibraryThatIsNoneIsRefusedByName) {
    for (const std::string name : {"MINFER_METALLIB", "MINFER_METALLIB_FILE"}) {
        const auto path = (dir.path() / "none.metallib").string();
        const auto outcome =
            minfer_says({"run", model, "x", "-n", "1", "--device", "metal"}, with(name, path));
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(error_line(outcome), HasSubstr(path));
    }
}

TEST_F(MetalDevice, KernelsFromSourceAreAnnouncedAndOneOfTheirErrorsIsSaid) {
    const auto path = (dir.path() / "broken.metal").string();
    std::ofstream(path) << "kernel void broken( { no_such_thing; }\nint also = broken too;\n";
    auto options = with("MINFER_METALLIB", "~/broken.metal");
    options.environment["HOME"] = dir.path().string();
    const auto outcome = minfer_says({"run", model, "x", "--device", "metal"}, options);
    EXPECT_EQ(outcome.code, 1);
    const auto said = "compiling the kernels of " + path + "\n";
    EXPECT_EQ(outcome.err, said + error_line(outcome) + "\n");
    EXPECT_THAT(error_line(outcome), AllOf(HasSubstr(path), HasSubstr("error: ")));
}

TEST_F(MetalDevice, ABenchmarkNamesTheDeviceAndHowMuchIsThere) {
    const auto bench = [&](std::string form, std::string layers) {
        return minfer_says({"bench", model, "-p", "4", "-n", "0", "-r", "1", "-o", form, "--device",
                            "metal", "-ngl", layers})
            .out;
    };
    EXPECT_THAT(bench("md", "1"), HasSubstr("), ngl 1 |"));
    EXPECT_THAT(bench("md", "all"), Not(HasSubstr("ngl")));
    EXPECT_NE(json::parse(bench("jsonl", "1"))["gpu_info"], "");
    EXPECT_EQ(json::parse(bench("jsonl", "0"))["gpu_info"], "");
}

TEST_F(MetalDevice, AWaitThatIsTooShortNamesTheFlagAndNoOther) {
    const auto outcome = minfer_says({"run", MINFER_STORY_MODEL, "Once", "-n", "1", "--device",
                                      "metal", "--device-timeout", "0.001"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(error_line(outcome),
                AllOf(HasSubstr("did not end within 0.001 s"), HasSubstr("(--device-timeout "),
                      Not(HasSubstr("--check-tensors")), Not(HasSubstr("Completed"))));
}

TEST_F(MetalDevice, ABenchmarkSaysWhatFailedAndWhyADeviceIsNotInUseOnce) {
    const auto late = minfer_says({"bench", MINFER_STORY_MODEL, "-p", "8", "-n", "0", "-r", "1",
                                   "--device", "metal", "--device-timeout", "0.001"});
    EXPECT_EQ(late.code, 1);
    EXPECT_THAT(error_line(late),
                AllOf(HasSubstr("did not end within 0.001 s"), HasSubstr("(--device-timeout ")));
    const auto path = (dir.path() / "odd.gguf").string();
    write_small_model(path, {.head_dim = 6});
    const auto twice = minfer_says(
        {"bench", path, "-p", "4", "-n", "0", "-r", "1", "-ub", "2,4", "--device", "metal"});
    EXPECT_EQ(twice.code, 0) << twice.err;
    const auto reason = std::string("heads of 6 elements");
    EXPECT_NE(twice.err.find(reason), std::string::npos) << twice.err;
    EXPECT_EQ(twice.err.find(reason), twice.err.rfind(reason)) << twice.err;
}

TEST_F(MetalDevice, FusedAttentionThatIsAskedForIsThereOrRefusedWithTheHeadsItIsMadeFor) {
    const auto path = (dir.path() / "heads.gguf").string();
    const auto run = [&](size_t head_dim, std::string device, std::string asked) {
        write_small_model(path, {.head_dim = head_dim});
        return minfer_says(
            {"run", path, "a", "-n", "1", "--device", std::move(device), "-fa", std::move(asked)});
    };
    for (const size_t head_dim : {64, 80}) EXPECT_EQ(run(head_dim, "metal", "on").code, 0);
    EXPECT_EQ(run(16, "metal", "auto").code, 0);
    const auto refused = run(16, "metal", "on");
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(error_line(refused),
                HasSubstr("-fa on: the model has heads of 16 elements, fused attention is there "
                          "for 64, 80, 96, 112, 128, 256"));
    const auto no_gpu = run(16, "cpu", "on");
    EXPECT_EQ(no_gpu.code, 0);
    EXPECT_THAT(no_gpu.err, HasSubstr("-fa on: no GPU device is in use"));
}

TEST_F(MetalDevice, SwitchesForComparisonKeepTheAnswer) {
    // Of the prompt one part is for kernels for many tokens, and the rest for those for a few.
    const auto run =
        std::vector<std::string>{"run", model, "Once upon, a time", "-n",       "16",
                                 "-ub", "11",  "--greedy",          "--device", "metal"};
    const auto want = minfer_says(run).out;
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"MINFER_WEIGHT_COPY", "1"},
                                            {"MINFER_GEMM", "0"},
                                            {"MINFER_GEMM_F32", "1"},
                                            {"MINFER_NO_FLOAT_GEMM", "1"},
                                            {"MINFER_NO_MULTI_COLUMN", "1"},
                                            {"MINFER_NO_RMS_256", "1"},
                                            {"MINFER_NO_FUSE_QKV", "1"},
                                            {"MINFER_NO_FUSE_FFN", "1"},
                                            {"SOFTMETAL_CHECKS", "all"}}) {
        const auto outcome = minfer_says(run, with(name, value));
        ASSERT_EQ(outcome.code, 0) << name << ": " << outcome.err;
        EXPECT_EQ(outcome.out, want) << name;
    }
}

TEST_F(MetalDevice, WhatGoesBeyondTheSpecifiedKernelsCanBeSwitchedOff) {
    // Prompts of bytes, in one batch: the weights are F32.
    const auto kernels = [&](std::string prompt, std::string variable) {
        auto options = with("MINFER_TRACE_LABELS", "1");
        options.environment[variable] = "1";
        return minfer_says({"run", model, prompt, "-n", "1", "--device", "metal", "--no-warmup"},
                           options)
            .err;
    };
    const auto few = HasSubstr("dispatch mul_mv_f32_4"), many = HasSubstr("dispatch mul_mm_f32");
    const std::string four = "four", nine = "nine byte";
    EXPECT_THAT(kernels(four, "MINFER_NO_FLOAT_GEMM"), AllOf(few, Not(many)));
    EXPECT_THAT(kernels(four, "MINFER_NO_MULTI_COLUMN"), AllOf(Not(few), Not(many)));
    EXPECT_THAT(kernels(nine, "MINFER_NO_MULTI_COLUMN"), AllOf(Not(few), many));
    EXPECT_THAT(kernels(nine, "MINFER_NO_FLOAT_GEMM"), AllOf(Not(few), Not(many)));
}

// Which kernels of attention and cells a prompt takes.
TEST(MetalStory, SwitchesOfAttentionLeadToOtherKernels) {
    using Variables = std::map<std::string, std::string>;
    std::string n_tokens = "1";  // none of them is evaluated
    const auto kernels = [&](Variables variables, std::vector<std::string> flags = {}) {
        auto args =
            std::vector<std::string>{"run",    MINFER_STORY_MODEL, "Once upon a time", "-n",
                                     n_tokens, "--no-warmup",      "--device",         "metal"};
        args.insert(args.end(), flags.begin(), flags.end());
        variables["MINFER_TRACE_LABELS"] = "1";
        const auto outcome = minfer_says(args, {.environment = variables});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome.err;
    };
    const auto tiles = HasSubstr("dispatch attention_prefill_f32_64_causal\n"),
               passes = HasSubstr("dispatch attention_softmax\n"),
               classic = HasSubstr("dispatch attention_f32\n");
    EXPECT_THAT(kernels({}), AllOf(tiles, Not(passes), Not(classic)));
    const auto no_tiles = Variables{{"MINFER_NO_PREFILL_FLASH", "1"}};
    EXPECT_THAT(kernels(no_tiles), AllOf(Not(tiles), passes, Not(classic)));
    EXPECT_THAT(kernels({}, {"-fa", "off"}), AllOf(Not(tiles), passes, Not(classic)));
    EXPECT_THAT(kernels(no_tiles, {"-fa", "on"}), AllOf(tiles, Not(passes), Not(classic)));
    auto neither = no_tiles;
    neither["MINFER_NO_MATMUL_ATTN"] = "1";
    EXPECT_THAT(kernels(neither), AllOf(Not(tiles), Not(passes), classic));

    const auto f16 = std::vector<std::string>{"--cache-type", "f16"};
    EXPECT_THAT(kernels({}, f16), HasSubstr("dispatch attention_prefill_f16_64_causal\n"));
    EXPECT_THAT(kernels(no_tiles, f16), HasSubstr("dispatch attention_f16\n"));
    const auto q8_0 = std::vector<std::string>{"--cache-type", "q8_0"};
    EXPECT_THAT(kernels({}, q8_0), AllOf(HasSubstr("dispatch kv_dequantize_q8_0_split\n"), tiles));
    EXPECT_THAT(kernels(no_tiles, q8_0), HasSubstr("dispatch attention_q8_0_split\n"));
    auto blocks = no_tiles;
    blocks["MINFER_Q8_0_BLOCKS"] = "1";
    EXPECT_THAT(kernels(blocks, q8_0), HasSubstr("dispatch attention_q8_0\n"));

    n_tokens = "2";
    const auto chunks = HasSubstr("dispatch attention_decode_64_f32\n"),
               split = HasSubstr("dispatch attention_split_f32\n");
    EXPECT_THAT(kernels({}), AllOf(chunks, Not(split), Not(classic)));
    auto no_flash = Variables{{"MINFER_NO_FLASH", "1"}};
    EXPECT_THAT(kernels(no_flash), AllOf(Not(chunks), split, Not(classic)));
    no_flash["MINFER_NO_SPLIT_ATTN"] = "1";
    EXPECT_THAT(kernels(no_flash), AllOf(Not(chunks), Not(split), classic));
    EXPECT_THAT(kernels({}, q8_0), HasSubstr("dispatch attention_decode_64_q8_0_split\n"));
    EXPECT_THAT(kernels({{"MINFER_PACKED_KV_STAGE", "1"}}, q8_0), chunks);
}

}  // namespace
}  // namespace minfer
