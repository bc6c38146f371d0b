// Whole models with KV caches of every format: on Metal against the CPU's exact mode, in pieces,
// used again, and each format against f32.

#include <gtest/gtest.h>

#include <cmath>

#include "conformance/engines.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/reused_cache.h"
#include "support/software_metal.h"
#include "support/temp_dir.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

std::string format_name(const testing::TestParamInfo<KvFormat>& info) {
    return std::string(name(info.param));
}

class KvModel : public testing::TestWithParam<KvFormat> {
  protected:
    Model tiny(std::string_view shape, DType type = DType::Q8_0) {
        write_random_model(shape, type, folder_.path() / "tiny.gguf");
        return load_model(folder_.path() / "tiny.gguf");
    }
    static EngineOptions cache(size_t n_ubatch = 512) {
        return {.n_ctx = 256, .n_ubatch = n_ubatch, .kv_format = GetParam()};
    }

    const SoftwareMetal device_{false};
    const TempDir folder_;
};

// Past the ends of the tiles that kernels walk a context in.
constexpr size_t kLengths[] = {64, 65, 128, 129, 200};

TEST_P(KvModel, a_chunked_prefill_answers_like_an_unchunked_one) {
    const auto model = tiny("tiny-qwen3");
    for (const bool f32_tiles : {true, false}) {
        const auto metal = MetalOptions{.gemm_f32_tiles = f32_tiles};
        const auto bar = f32_tiles ? same_cells_bar(GetParam()) : kLogitsHalfTilesBar;
        auto whole = on_metal(model, metal, cache());
        EXPECT_EQ(whole.engine->kv_format(), GetParam());
        const auto lengths = std::span(kLengths);
        for (const auto length : f32_tiles ? lengths : lengths.last(2)) {
            const auto prompt = random_ids(model, length);
            whole.engine->truncate(0);
            const auto want = whole.evaluate(prompt, 9);
            for (const size_t chunk : {7, 64}) {
                auto pieces = on_metal(model, metal, cache(chunk));
                EXPECT_LE(nmse(pieces.evaluate(prompt, 9), want), bar)
                    << length << " tokens in chunks of " << chunk;
            }
        }
    }
}

TEST_P(KvModel, graph_metal_matches_cpu_logits) {
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"}) {
        const auto model = tiny(shape);
        auto metal = on_metal(model, {.gemm_f32_tiles = true}, cache());
        auto cpu = on_cpu(model, CpuActivations::F32, cache());
        for (const auto length : kLengths) {
            SCOPED_TRACE(fmt::format("{}, {} tokens", shape, length));
            const auto ids = random_ids(model, length + 3);
            const auto prompt = std::span(ids).first(length);
            metal.engine->truncate(0);
            cpu.engine->truncate(0);
            EXPECT_LE(nmse(metal.evaluate(prompt, length), cpu.evaluate(prompt, length)),
                      same_cells_bar(GetParam()));
            for (size_t i = length; i < ids.size(); ++i) {
                const auto next = std::span(ids).subspan(i, 1);
                EXPECT_LE(nmse(metal.evaluate(next), cpu.evaluate(next)),
                          same_cells_bar(GetParam()));
            }
        }
        EXPECT_EQ(metal.nodes_on(BackendId::Cpu), 0u);
        EXPECT_EQ(cpu.nodes_on(BackendId::Metal), 0u);
    }
}

TEST_P(KvModel, reused_cache_across_prompts_matches_a_fresh_cache) {
    const auto model = tiny("tiny-qwen3");
    for (const size_t n_ubatch : {4, 256}) {
        auto kept = std::vector<Running>();  // backends outlive their engines
        expect_like_a_fresh_cache([&] {
            kept.push_back(on_metal(model, {}, cache(n_ubatch)));
            return kept.back().engine.get();
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, KvModel, testing::ValuesIn(kKvFormats), format_name);

// A prompt of a real model takes a busy machine long.
const auto kExactMetal = MetalOptions{.submit_bound_seconds = 600, .gemm_f32_tiles = true};

// How far the logits of a model are from those with an f32 cache: of a prompt and of the steps
// after it, on one backend.
double distance_from_f32(const Model& model, bool is_metal, KvFormat format,
                         std::span<const TokenId> prompt) {
    const auto start = [&](KvFormat kept) {
        const auto options = EngineOptions{.n_ctx = 256, .kv_format = kept};
        return is_metal ? on_metal(model, kExactMetal, options)
                        : on_cpu(model, CpuActivations::F32, options);
    };
    auto exact = start(KvFormat::F32), kept = start(format);
    auto want = exact.evaluate(prompt, prompt.size());
    auto far = nmse(kept.evaluate(prompt, prompt.size()), want);
    const auto n_vocab = static_cast<ptrdiff_t>(model.hparams().n_vocab);
    if (std::ssize(want) < n_vocab) return INFINITY;
    want.erase(want.begin(), want.end() - n_vocab);
    for (int step = 0; step < 4; ++step) {
        const auto token = best(want);
        want = exact.evaluate(std::span(&token, 1));
        far = std::max(far, nmse(kept.evaluate(std::span(&token, 1)), want));
    }
    return far;
}

class MetalRoundedKv : public testing::TestWithParam<KvFormat> {};

TEST_P(MetalRoundedKv, AnswersLikeF32OnTheStoryModel) {
    const SoftwareMetal device(false);
    const auto model = load_model(kStoryModel);
    const auto prompt = encode(
        model,
        "Once upon a time there was a little red hen who lived in a barn with her friends, the "
        "cat, the dog and the pig. One day she found some grains of wheat and asked who would "
        "help her to plant them. Not I, said the cat. Not I, said the dog.");
    ASSERT_GT(prompt.size() + 4, 65u);
    EXPECT_LE(distance_from_f32(model, true, GetParam(), prompt), rounded_cells_bar(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Formats, MetalRoundedKv, testing::Values(KvFormat::F16, KvFormat::Q8_0),
                         format_name);

// The widths of a real model and so many of its blocks; the vocabulary has no part in what is
// compared and would be half of the work.
Model in_shape_of(std::string_view name, std::optional<uint32_t> n_layer, const TempDir& folder) {
    auto shape = *std::ranges::find(random_model_shapes(), name, &RandomModelShape::name);
    shape.n_vocab = 512;
    shape.n_layer = n_layer.value_or(shape.n_layer);
    write_random_model(shape, DType::Q8_0, folder.path() / "model.gguf");
    return load_model(folder.path() / "model.gguf");
}

// Heads of 64 and of 128.
class MetalRealWidths : public testing::TestWithParam<std::tuple<std::string_view, KvFormat>> {};

TEST_P(MetalRealWidths, graph_metal_matches_cpu_logits) {
    const SoftwareMetal device(false);
    const TempDir folder;
    const auto& [shape, format] = GetParam();
    const auto model = in_shape_of(shape, 2, folder);
    const auto options = EngineOptions{.n_ctx = 256, .kv_format = format};
    auto metal = on_metal(model, kExactMetal, options);
    auto cpu = on_cpu(model, CpuActivations::F32, options);
    const auto ids = random_ids(model, 75);
    const auto prompt = std::span(ids).first(72);
    EXPECT_LE(nmse(metal.evaluate(prompt, 72), cpu.evaluate(prompt, 72)), same_cells_bar(format));
    for (size_t i = 72; i < ids.size(); ++i) {
        const auto next = std::span(ids).subspan(i, 1);
        EXPECT_LE(nmse(metal.evaluate(next), cpu.evaluate(next)), same_cells_bar(format));
    }
    EXPECT_EQ(metal.nodes_on(BackendId::Cpu), 0u);
    EXPECT_EQ(cpu.nodes_on(BackendId::Metal), 0u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MetalRealWidths,
                         testing::Combine(testing::Values("qwen2.5-0.5b", "qwen3-0.6b"),
                                          testing::ValuesIn(kKvFormats)),
                         [](const auto& info) {
                             const auto is_qwen2 = std::get<0>(info.param) == "qwen2.5-0.5b";
                             return fmt::format("{}_{}", is_qwen2 ? "qwen2" : "qwen3",
                                                name(std::get<1>(info.param)));
                         });

class SlowRoundedKv : public testing::TestWithParam<KvFormat> {};

// Of all 24 blocks.
TEST_P(SlowRoundedKv, AnswersLikeF32InTheShapeOfQwen25_05B) {
    const SoftwareMetal device(false);
    const TempDir folder;
    const auto model = in_shape_of("qwen2.5-0.5b", {}, folder);
    for (const bool is_metal : {false, true})
        EXPECT_LE(distance_from_f32(model, is_metal, GetParam(), random_ids(model, 72)),
                  rounded_cells_bar(GetParam()))
            << (is_metal ? "Metal" : "CPU");
}

// Heads of 128, of fewer blocks.
TEST_P(SlowRoundedKv, AnswersLikeF32InTheShapeOfQwen3_06B) {
    const SoftwareMetal device(false);
    const TempDir folder;
    const auto model = in_shape_of("qwen3-0.6b", 4, folder);
    EXPECT_LE(distance_from_f32(model, true, GetParam(), random_ids(model, 72)),
              rounded_cells_bar(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Formats, SlowRoundedKv, testing::Values(KvFormat::F16, KvFormat::Q8_0),
                         format_name);

}  // namespace
}  // namespace minfer::test
