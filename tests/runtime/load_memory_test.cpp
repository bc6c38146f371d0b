// What a load charges a Metal device for: a model that was loaded runs its prompts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "base/bytes_text.h"
#include "runtime/engine.h"
#include "softmetal/control.h"
#include "support/tiny_model.h"

namespace minfer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kContext = 4096, kBatch = 32;

// A model over q8_0 cells, which a prompt expands to f32, on a device with so much memory.
struct Load {
    TinyModel tiny{"tiny-qwen3", DType::Q8_0};
    std::unique_ptr<CpuBackend> cpu = make_cpu_backend();
    std::unique_ptr<MetalBackend> metal;

    explicit Load(std::optional<size_t> budget) {
        auto made = make_metal_backend({.memory_budget_bytes = budget});
        EXPECT_TRUE(made) << made.error().what;
        if (made) metal = *std::move(made);
    }
    size_t used() const { return metal->weights_bytes() + metal->pool_bytes(); }
    Result<std::unique_ptr<Engine>> engine(std::optional<KvFormat> format = KvFormat::Q8_0) {
        return Engine::create(tiny.model, {metal.get(), cpu.get()},
                              {.n_ctx = kContext, .n_ubatch = kBatch, .kv_format = format});
    }
};

Result<> evaluate(Engine& engine, size_t count) {
    const auto tokens = std::vector<TokenId>(count, TokenId{7});
    MINFER_TRY(engine.evaluate(tokens));
    return {};
}

TEST(LoadMemory, PromptsAndTokensTakeNothingAfterTheLoad) {
    for (const auto format : {KvFormat::F32, KvFormat::Q8_0}) {
        auto load = Load(std::nullopt);
        const auto engine = load.engine(format);
        ASSERT_TRUE(engine) << engine.error().what;
        ASSERT_TRUE((*engine)->offload().on_device());
        const auto used = load.used();
        for (const size_t count : {kBatch, size_t{1}, 2 * kBatch}) {
            ASSERT_TRUE(evaluate(**engine, count)) << count;
            EXPECT_EQ(load.used(), used) << name(format) << ", " << count;
        }
        // Where nodes of other sizes fall into one class of buffers a shorter step shares less.
        for (const size_t count : {2, 5, 9, 31}) ASSERT_TRUE(evaluate(**engine, count)) << count;
        EXPECT_LE(load.used() - used, size_t{32} << 10) << name(format);
    }
}

TEST(LoadMemory, ALoadThatLacksOneByteIsRefusedWithNeedAndHaveAndOneThatFitsRuns) {
    auto whole = Load(std::nullopt);
    ASSERT_TRUE(whole.engine());
    const auto need = whole.used();
    const auto width = whole.tiny.model.hparams().kv_width();
    EXPECT_GT(need, whole.metal->weights_bytes() + 2 * kContext * width * sizeof(float))
        << "a layer of expanded cells is charged";

    auto fits = Load(need);
    const auto engine = fits.engine();
    ASSERT_TRUE(engine) << engine.error().what;
    EXPECT_TRUE(evaluate(**engine, kBatch + 9));

    auto lacks = Load(need - 1);
    const auto refused = lacks.engine();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    const auto& hparams = lacks.tiny.model.hparams();
    const auto cells =
        2 * hparams.n_layer * kContext * kv_layout(KvFormat::Q8_0, hparams.kv_width()).row_bytes;
    EXPECT_THAT(refused.error().what,
                AllOf(HasSubstr("metal: steps of 32 tokens over a context of 4096 need "),
                      HasSubstr(bytes_text(cells) + " for keys and values"),
                      HasSubstr(" for activations"), HasSubstr(" are there")));
    // Nothing of the graph was taken.
    EXPECT_LT(lacks.used() - lacks.metal->weights_bytes(), cells);
}

// The device itself says no, whatever its budget.
TEST(LoadMemory, ADeviceOfLimitedMemoryRefusesTheLoadAndNotThePrompt) {
    auto whole = Load(std::nullopt);
    ASSERT_TRUE(whole.engine());
    const auto before = softmetal::default_profile();
    const auto with = [&](size_t bytes) {
        auto profile = before;
        profile.memory_bytes = bytes;
        profile.enforce_memory = true;
        softmetal::set_default_profile(profile);
        auto load = Load(SIZE_MAX);
        softmetal::set_default_profile(before);
        return load;
    };
    // Wrapped pages of the file count as well, in whole pages; half a stage is far more.
    const auto width = whole.tiny.model.hparams().kv_width();
    const auto stage = 2 * kContext * width * sizeof(float);
    auto small = with(whole.used() - stage / 2);
    const auto refused = small.engine();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    auto large = with(whole.used() + stage);
    const auto engine = large.engine();
    ASSERT_TRUE(engine) << engine.error().what;
    EXPECT_TRUE(evaluate(**engine, kBatch));
}

}  // namespace
}  // namespace minfer
