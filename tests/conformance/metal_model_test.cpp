// Whole models on Metal against the CPU's exact mode, and against themselves by other ways.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>

#include "conformance/engines.h"
#include "conformance/op_row.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/rewrite_model.h"
#include "support/software_metal.h"
#include "support/temp_dir.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

constexpr size_t kContinuation = 64;
constexpr float kNearTie = 0.05f;

struct Comparison {
    double prompt = 0, steps = 0;  // NMSE of all rows of the prompt, the largest of any step
};

// Both continue with the CPU's greedy tokens. Where Metal would have chosen another, the CPU's two
// best were nearly equal.
Comparison compare(Running& metal, Running& cpu, std::span<const TokenId> prompt,
                   size_t continuation) {
    auto result = Comparison();
    auto want = cpu.evaluate(prompt, prompt.size());
    auto got = metal.evaluate(prompt, prompt.size());
    const auto n_vocab = metal.engine->model().hparams().n_vocab;
    if (want.size() != prompt.size() * n_vocab || got.size() != want.size()) {
        ADD_FAILURE() << got.size() << " and " << want.size() << " logits";
        return {.prompt = INFINITY, .steps = INFINITY};
    }
    result.prompt = nmse(got, want);
    want.erase(want.begin(), want.end() - static_cast<ptrdiff_t>(n_vocab));
    got.erase(got.begin(), got.end() - static_cast<ptrdiff_t>(n_vocab));
    for (size_t step = 0; step < continuation; ++step) {
        const auto token = best(want);
        if (best(got) != token) {
            EXPECT_LT(lead(want), kNearTie) << "parts at step " << step;
        }
        want = cpu.evaluate(std::span(&token, 1));
        got = metal.evaluate(std::span(&token, 1));
        result.steps = std::max(result.steps, nmse(got, want));
    }
    return result;
}

void expect_whole_on_metal(const Running& metal) {
    EXPECT_EQ(metal.nodes_on(BackendId::Cpu), 0u);
    EXPECT_GT(metal.nodes_on(BackendId::Metal), 0u);
    EXPECT_EQ(metal.nodes_on(BackendId::Metal), metal.engine->graph().nodes.size());
}

void expect_placement(const Running& metal, const Running& cpu) {
    expect_whole_on_metal(metal);
    EXPECT_EQ(cpu.nodes_on(BackendId::Metal), 0u);
    EXPECT_EQ(cpu.nodes_on(BackendId::Cpu), cpu.engine->graph().nodes.size());
}

void expect_matches_cpu(const Model& model, std::span<const TokenId> prompt, size_t continuation,
                        KvFormat cells = KvFormat::F32) {
    const auto options = EngineOptions{.kv_format = cells};
    {
        auto metal = on_metal(model, {.gemm_f32_tiles = true}, options);
        auto cpu = on_cpu(model, CpuActivations::F32, options);
        const auto exact = compare(metal, cpu, prompt, continuation);
        EXPECT_LE(exact.prompt, same_cells_bar(cells)) << "tiles of f32";
        EXPECT_LE(exact.steps, same_cells_bar(cells)) << "tiles of f32";
        expect_placement(metal, cpu);
    }
    auto metal = on_metal(model, {}, options), cpu = on_cpu(model, CpuActivations::F32, options);
    const auto halves = compare(metal, cpu, prompt, continuation);
    EXPECT_LE(halves.prompt, kLogitsHalfTilesBar + same_cells_bar(cells)) << "tiles of half";
    EXPECT_LE(halves.steps, kLogitsHalfTilesBar + same_cells_bar(cells)) << "tiles of half";
    expect_placement(metal, cpu);
}

class MetalTinyModel : public testing::TestWithParam<std::tuple<std::string_view, DType>> {
  protected:
    std::string_view shape() const { return std::get<0>(GetParam()); }
    DType type() const { return std::get<1>(GetParam()); }
    Model load() {
        write_random_model(shape(), type(), folder_.path() / "tiny.gguf");
        return load_model(folder_.path() / "tiny.gguf");
    }

    TempDir folder_;
};

std::string tiny_name(const testing::TestParamInfo<MetalTinyModel::ParamType>& info) {
    return fmt::format("{}_{}", std::get<0>(info.param) == "tiny-qwen2" ? "qwen2" : "qwen3",
                       name(std::get<1>(info.param)));
}

TEST_P(MetalTinyModel, graph_metal_matches_cpu_logits) {
    const SoftwareMetal device(false);
    const auto model = load();
    expect_matches_cpu(model, random_ids(model, 40), kContinuation);
}

// The CPU as people run it: its activations are rounded to 8 bits, Metal's are not.
TEST_P(MetalTinyModel, DiffersFromTheQuantizedCpuByItsClass) {
    const SoftwareMetal device(false);
    const auto model = load();
    auto metal = on_metal(model), cpu = on_cpu(model, CpuActivations::Quantized);
    const auto prompt = random_ids(model, 12);
    const auto difference = nmse(metal.evaluate(prompt, 12), cpu.evaluate(prompt, 12));
    EXPECT_LE(difference, kLogitsQuantizedActivationBar);
    if (info(type()).block_values > 1) {
        EXPECT_GT(difference, 1e-8) << "the CPU was exact";
    }
    expect_placement(metal, cpu);
}

// Every access checked, short.
TEST_P(MetalTinyModel, RunsWithEveryCheckOn) {
    const SoftwareMetal device;
    const auto model = load();
    auto metal = on_metal(model), cpu = on_cpu(model);
    const auto result = compare(metal, cpu, random_ids(model, 11), 2);
    EXPECT_LE(result.prompt, kLogitsHalfTilesBar);
    EXPECT_LE(result.steps, kLogitsHalfTilesBar);
    expect_placement(metal, cpu);
}

INSTANTIATE_TEST_SUITE_P(Types, MetalTinyModel,
                         testing::Combine(testing::Values("tiny-qwen2", "tiny-qwen3"),
                                          testing::ValuesIn(kWeightTypes)),
                         tiny_name);

// Bit for bit, over several decode steps. The unfused side has had its other fusion.
void expect_fused_matches_unfused(std::string_view shape, DType type, std::string_view qkv,
                                  KvFormat cells = KvFormat::F32) {
    const SoftwareMetal device(false);
    const TempDir folder;
    write_random_model(shape, type, folder.path() / "tiny.gguf");
    auto model = load_model(folder.path() / "tiny.gguf");
    ASSERT_TRUE(model.join_weights(true, true));
    auto fused = on_metal(model, {}, {.kv_format = cells});
    auto joined = on_metal(model, {}, {.kv_format = cells, .concat_weights = true});
    auto plain = on_metal(model, {}, {.kv_format = cells, .fuse_qkv = false, .fuse_ffn = false});
    const auto prompt = random_ids(model, 5);
    auto want = plain.evaluate(prompt);
    EXPECT_EQ(fused.evaluate(prompt), want);
    EXPECT_EQ(joined.evaluate(prompt), want);
    for (int step = 0; step < 5; ++step) {
        const auto token = best(want);
        want = plain.evaluate(std::span(&token, 1));
        EXPECT_EQ(fused.evaluate(std::span(&token, 1)), want) << "step " << step;
        EXPECT_EQ(joined.evaluate(std::span(&token, 1)), want) << "step " << step;
    }
    const auto has = [](const Running& running, std::string_view op) {
        return std::ranges::count(running.engine->graph().nodes, op,
                                  [](const Node& node) { return op_name(node.op); }) > 0;
    };
    // The models fuse quantised weights only.
    const bool quantized = info(type).block_values > 1;
    for (const auto* const running : {&fused, &joined}) {
        EXPECT_EQ(has(*running, qkv), quantized);
        EXPECT_EQ(has(*running, "FusedFfn"), quantized);
    }
    EXPECT_FALSE(has(plain, qkv));
    EXPECT_FALSE(has(plain, "FusedFfn"));
    EXPECT_TRUE(has(plain, "SwiGlu"));
    for (const auto* const running : {&fused, &joined, &plain}) expect_whole_on_metal(*running);
}

class MetalFusion : public testing::TestWithParam<DType> {};

TEST_P(MetalFusion, fused_qkv_matches_unfused_decode) {
    expect_fused_matches_unfused("tiny-qwen2", GetParam(), "FusedQkv");
}

TEST_P(MetalFusion, fused_qkv_norm_matches_unfused_decode) {
    expect_fused_matches_unfused("tiny-qwen3", GetParam(), "FusedQkvNorm");
}

TEST(MetalFusionOfF16Cells, fused_qkv_matches_unfused_decode) {
    expect_fused_matches_unfused("tiny-qwen2", DType::Q8_0, "FusedQkv", KvFormat::F16);
    expect_fused_matches_unfused("tiny-qwen3", DType::Q8_0, "FusedQkvNorm", KvFormat::F16);
}

INSTANTIATE_TEST_SUITE_P(Types, MetalFusion, testing::ValuesIn(kWeightTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(MetalStory, graph_metal_matches_cpu_logits) {
    const SoftwareMetal device(false);
    const auto model = load_model(kStoryModel);
    expect_matches_cpu(model, encode(model, "Once upon a time there was a little red hen who"),
                       kContinuation);
}

// Whether ten runs of the prompt, threadgroups in another order each time, give the same bits.
void expect_same_bits_in_every_order(SoftwareMetal& device, const MetalOptions& options,
                                     std::span<const TokenId> prompt, const Model& model) {
    device.set_order_seed(0);
    auto metal = on_metal(model, options);
    const auto first = metal.evaluate(prompt, prompt.size());
    expect_whole_on_metal(metal);
    for (uint64_t run = 1; run < 10; ++run) {
        device.set_order_seed(run);
        metal.engine->truncate(0);
        EXPECT_EQ(metal.evaluate(prompt, prompt.size()), first) << "run " << run;
    }
}

TEST(MetalStory, metal_prefill_determinism) {
    SoftwareMetal device(false);
    const auto model = load_model(kStoryModel);
    const auto prompt = encode(model, "Far away by the sea there lived an old man and his wife.");
    ASSERT_GE(prompt.size(), 9u);
    {
        SCOPED_TRACE("matrix tiles");
        expect_same_bits_in_every_order(device, {}, prompt, model);
    }
    // Q8_0 rows of 1024 are split over SIMD groups, which meet at every token of these.
    {
        SCOPED_TRACE("vectors one after another");
        expect_same_bits_in_every_order(device, {.gemm = false}, prompt, model);
    }
    for (size_t n_tokens = 2; n_tokens <= 8; n_tokens += 3) {
        SCOPED_TRACE(fmt::format("{} tokens", n_tokens));
        const auto few = std::span(prompt).first(n_tokens);
        expect_same_bits_in_every_order(device, {.multi_column = false}, few, model);
    }
}

TEST(MetalStory, a_chunked_prefill_answers_like_an_unchunked_one) {
    const SoftwareMetal device(false);
    const auto model = load_model(kStoryModel);
    const auto prompt =
        encode(model, "The children were playing in the garden when the rain came.");
    auto whole = on_metal(model, {.gemm_f32_tiles = true});
    const auto want = whole.evaluate(prompt);
    for (const size_t n_ubatch : {1, 5, 12}) {
        auto pieces = on_metal(model, {.gemm_f32_tiles = true}, {.n_ubatch = n_ubatch});
        EXPECT_LE(nmse(pieces.evaluate(prompt), want), kLogitsExactBar) << n_ubatch;
        expect_whole_on_metal(pieces);
    }
    expect_whole_on_metal(whole);
}

class SlowMetalStory : public testing::TestWithParam<DType> {};

TEST_P(SlowMetalStory, graph_metal_matches_cpu_logits) {
    const SoftwareMetal device(false);
    const TempDir folder;
    const auto path = folder.path() / "story.gguf";
    ASSERT_TRUE(rewrite_model(kStoryModel, GetParam(), path));
    const auto model = load_model(path);
    expect_matches_cpu(model, encode(model, "Once upon a time there was a little red hen who"),
                       kContinuation);
}

INSTANTIATE_TEST_SUITE_P(Types, SlowMetalStory, testing::ValuesIn(kWeightTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

class SlowMetalModel : public testing::Test {
  protected:
    void SetUp() override {
        const auto* const path = std::getenv("MINFER_TEST_MODEL");
        if (path == nullptr || *path == '\0')
            GTEST_SKIP() << "left out: MINFER_TEST_MODEL names no file";
        auto model = Model::load(path);
        ASSERT_TRUE(model) << model.error().what;
        const auto reason = why_not(*model);
        ASSERT_FALSE(reason) << path << ": " << *reason;
        model_.emplace(*std::move(model));
        prompt_ = encode(*model_, "The capital of France is the city of Paris, and");
    }

    const SoftwareMetal device_{false};
    std::optional<Model> model_;
    std::vector<TokenId> prompt_;
};

TEST_F(SlowMetalModel, TheGivenFileMatchesTheCpu) {
    for (const auto cells : kKvFormats) {
        SCOPED_TRACE(name(cells));
        expect_matches_cpu(*model_, prompt_, kContinuation, cells);
    }
}

// The specified bars: of any logit, and of the one that is chosen.
TEST_F(SlowMetalModel, metal_q8_0_kv_answers_like_f32_on_a_real_model) {
    auto exact = on_metal(*model_, {}, {.kv_format = KvFormat::F32});
    auto packed = on_metal(*model_, {}, {.kv_format = KvFormat::Q8_0});
    auto want = exact.evaluate(prompt_), got = packed.evaluate(prompt_);
    for (int step = 0; step < 8; ++step) {
        ASSERT_EQ(got.size(), want.size());
        float most = 0;
        for (size_t i = 0; i < want.size(); ++i) most = std::max(most, std::fabs(got[i] - want[i]));
        EXPECT_LE(most, 4.0f) << "step " << step;
        EXPECT_GT(most, 0) << "cells of the same kind";
        const auto token = best(want);
        EXPECT_LE(std::fabs(got[static_cast<size_t>(token)] - want[static_cast<size_t>(token)]),
                  1.0f)
            << "step " << step;
        want = exact.evaluate(std::span(&token, 1));
        got = packed.evaluate(std::span(&token, 1));
    }
    expect_whole_on_metal(packed);
}

}  // namespace
}  // namespace minfer::test
