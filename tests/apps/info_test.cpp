#include <nlohmann/json.hpp>

#include "apps/program.h"

namespace minfer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Info = WithModel;

TEST_F(Info, DescribesAModel) {
    const auto outcome = minfer_says({"info", model});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const auto* const fact :
         {"qwen3", "2 query, 1 key/value, head size 16", "model 32", "feed-forward 64",
          "gpt2, pre-tokenizer qwen2", "eos 257 '<|endoftext|>'", "runs here         yes"})
        EXPECT_THAT(outcome.out, HasSubstr(fact));
}

TEST_F(Info, GivesTheSameAsJsonUnderItsAliases) {
    for (const std::string name : {"info", "show", "inspect"}) {
        const auto facts = json::parse(
            minfer_says({name, model, "--json", "--tensors", "--kv", "--ctx", "100"}).out);
        EXPECT_EQ(facts["architecture"], "qwen3");
        EXPECT_EQ(facts["n_layer"], 2);
        EXPECT_EQ(facts["head_dim"], 16);
        EXPECT_EQ(facts["n_vocab"], 258);
        EXPECT_EQ(facts["special_ids"]["eos"], 257);
        EXPECT_EQ(facts["runs_here"], true);
        EXPECT_EQ(facts["tensors"].size(), 24u);
        EXPECT_EQ(facts["tensors"][0]["shape"], json({32, 258}));
        EXPECT_EQ(facts["kv"]["qwen3.block_count"], 2);
        EXPECT_EQ(facts["kv"]["tokenizer.ggml.tokens"].size(), 258u);
        // K and V of two layers, 16 values a cell.
        EXPECT_EQ(facts["memory"]["kv_bytes"]["f32"], 2 * 2 * 16 * 4 * 100);
        EXPECT_EQ(facts["memory"]["kv_bytes"]["f16"], 2 * 2 * 16 * 2 * 100);
        EXPECT_FALSE(facts["memory"]["kv_bytes"].contains("q8_0")) << "cells are no whole blocks";
        EXPECT_EQ(facts["memory"]["gpu_cache_type"], "f32");
        EXPECT_GT(facts["memory"]["scratch_bytes"], 0);
    }
}

TEST_F(Info, SaysWhatAGpuTakesByDefault) {
    write_small_model(model, {.head_dim = 4096});  // of two layers: 8192 elements a token
    const auto outcome = minfer_says({"info", model, "--ctx", "10"});
    EXPECT_THAT(outcome.out, HasSubstr("  KV f16          320.00 KiB (default on a GPU)\n"));
    EXPECT_THAT(outcome.out, HasSubstr("  KV q8_0"));
}

TEST_F(Info, ListsEveryTensorAndKey) {
    const auto outcome = minfer_says({"info", model, "--tensors", "--kv"});
    EXPECT_THAT(outcome.out, HasSubstr("blk.1.ffn_down.weight"));
    EXPECT_THAT(outcome.out, HasSubstr("qwen3.rope.freq_base"));
}

TEST_F(Info, DescribesWhatTheEngineCannotRun) {
    write_small_model(model, {.architecture = "mamba"});
    const auto outcome = minfer_says({"info", model, "--ctx", "0"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("runs here         no: "));
    EXPECT_THAT(outcome.out, HasSubstr("'mamba', supported are qwen2 and qwen3"));
    EXPECT_THAT(outcome.out, HasSubstr("KV f32"));
    write_small_model(model, {.with_tensors = false});
    EXPECT_EQ(minfer_says({"info", model}).code, 0);
}

TEST_F(Info, SendsNoControlCharactersFromTheFileToTheTerminal) {
    write_small_model(model, {.architecture = "\x1b[2Jqwen3"});
    const auto outcome = minfer_says({"info", model, "--kv", "--tensors"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("\x1b")));
    EXPECT_THAT(outcome.out, HasSubstr("\\x1b[2Jqwen3"));
    EXPECT_THAT(minfer_says({"run", model, "Hi"}).err, testing::Not(HasSubstr("\x1b")));
}

TEST_F(Info, PrintsTheTemplateExactly) {
    write_small_model(model, {.chat_template = "{{ messages }}\n"});
    EXPECT_EQ(minfer_says({"info", model, "--template"}).out, "{{ messages }}\n");
    write_small_model(model);
    const auto none = minfer_says({"info", model, "--template"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(error_line(none), HasSubstr("no chat template"));
}

}  // namespace
}  // namespace minfer
