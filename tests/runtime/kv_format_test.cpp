#include "runtime/kv_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine.h"
#include "support/fake_backend.h"
#include "support/tiny_model.h"

namespace minfer {
namespace {

using testing::HasSubstr;

struct Formats : testing::Test {
    FakeBackend device{BackendId::Metal, "metal"}, cpu{BackendId::Cpu};
    HParams large{.n_layer = 28, .n_head = 28, .n_head_kv = 4, .head_dim = 128};  // Qwen2.5-7B
    HParams small{.n_layer = 24, .n_head = 14, .n_head_kv = 2, .head_dim = 64};   // Qwen2.5-0.5B

    Formats() {
        device.kv_formats = cpu.kv_formats = {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0};
    }
    Result<KvFormat> choose(std::optional<KvFormat> asked, const HParams& hparams,
                            bool with_device) {
        Backend* const both[] = {&device, &cpu};
        return choose_kv_format(asked, hparams, std::span(both).last(with_device ? 2 : 1));
    }
};

TEST_F(Formats, ADeviceHasHalfCellsFrom8192ElementsAToken) {
    EXPECT_EQ(auto_device_format(28, 512), KvFormat::F16);
    EXPECT_EQ(auto_device_format(24, 128), KvFormat::F32);
    EXPECT_EQ(auto_device_format(16, 512), KvFormat::F16);
    EXPECT_EQ(auto_device_format(8191, 1), KvFormat::F32);
}

TEST_F(Formats, TheChoiceIsForDevicesThatReadIt) {
    EXPECT_EQ(choose({}, large, true), KvFormat::F16);
    EXPECT_EQ(choose({}, small, true), KvFormat::F32);
    EXPECT_EQ(choose({}, large, false), KvFormat::F32);
    cpu.kv_formats = {KvFormat::F32};  // a block left to it could not run
    EXPECT_EQ(choose({}, large, true), KvFormat::F32);
}

TEST_F(Formats, WhatIsAskedForIsTaken) {
    for (const bool with_device : {true, false})
        for (const auto asked : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0})
            EXPECT_EQ(choose(asked, large, with_device), asked);
}

TEST_F(Formats, PackedCellsAreWholeBlocks) {
    auto narrow = small;
    narrow.n_head_kv = 3;
    for (const auto& [head_dim, is_whole] : {std::pair(16, false), {32, true}, {80, false}}) {
        narrow.head_dim = static_cast<size_t>(head_dim);
        const auto chosen = choose(KvFormat::Q8_0, narrow, true);
        EXPECT_EQ(chosen.has_value(), is_whole) << head_dim;
        if (is_whole) continue;
        EXPECT_EQ(chosen.error().fault, Fault::Unsupported);
        EXPECT_THAT(chosen.error().what,
                    HasSubstr(fmt::format("this model's have {} (3 KV heads of {})", 3 * head_dim,
                                          head_dim)));
        EXPECT_TRUE(choose(KvFormat::F16, narrow, true));
    }
}

// The device is left out for a weight that it does not run: what was chosen for it is not used.
TEST_F(Formats, AnEngineThatEndsUpOnTheCpuHasTheFormatOfTheCpu) {
    auto shape = random_model_shapes().front();
    shape.n_layer = 1, shape.n_head = 4, shape.n_head_kv = 4, shape.head_dim = 2048;
    gguf::Writer writer;
    ASSERT_TRUE(add_random_model(writer, shape, DType::Q4_0));
    const TinyModel wide(*writer.bytes());
    device.weight_types = cpu.weight_types = {DType::F32, DType::Q4_0};
    const auto options = EngineOptions{.n_ctx = 4};
    const auto create = [&] { return Engine::create(wide.model, {&device, &cpu}, options); };
    {
        const auto engine = create();
        ASSERT_TRUE(engine) << engine.error().what;
        EXPECT_EQ((*engine)->kv_format(), KvFormat::F16);
        EXPECT_EQ((*engine)->kv_bytes(), 2u * 4 * 8192 * 2);
    }
    device.weight_types = {DType::F32};
    auto budget = options;
    budget.memory_budget_bytes = 2 * 4 * 8192 * 2;  // of the device's format
    const auto engine = create();
    ASSERT_TRUE(engine) << engine.error().what;
    EXPECT_EQ((*engine)->kv_format(), KvFormat::F32);
    EXPECT_EQ((*engine)->kv_bytes(), 2u * 4 * 8192 * 4);
    const auto refused = Engine::create(wide.model, {&device, &cpu}, budget);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(refused.error().what, HasSubstr("the f32 KV cache for a context of 4 tokens"));
}

}  // namespace
}  // namespace minfer
