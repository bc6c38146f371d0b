// Engines whose caches have different cells, in one process.

#include <gtest/gtest.h>

#include "conformance/engines.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/software_metal.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

std::string_view fused_projection(const Running& running) {
    return running.engine->graph().find("blk.0.attn_qkv") ? "fused" : "separate";
}

// A prompt, then tokens one by one, each engine in turn: what one stores is in no other's way.
std::vector<std::vector<float>> tell(std::vector<Running>& engines,
                                     std::span<const TokenId> tokens) {
    auto all = std::vector<std::vector<float>>(engines.size());
    for (size_t done = 0; done < tokens.size();) {
        const auto part = tokens.subspan(done, done == 0 ? 6 : 1);
        for (size_t i = 0; i < engines.size(); ++i) {
            const auto logits = engines[i].evaluate(part);
            all[i].insert(all[i].end(), logits.begin(), logits.end());
        }
        done += part.size();
    }
    return all;
}

TEST(MetalKvFormat, metal_kv_format_is_per_engine) {
    const SoftwareMetal device(false);
    const auto model = load_model(kStoryModel);
    const auto tokens = random_ids(model, 10);
    auto metal = std::vector<Running>(), cpu = std::vector<Running>();
    for (const auto format : kKvFormats) {
        const auto options = EngineOptions{.kv_format = format};
        metal.push_back(on_metal(model, {}, options));
        cpu.push_back(on_cpu(model, CpuActivations::F32, options));
    }
    const auto got = tell(metal, tokens), want = tell(cpu, tokens);
    for (size_t i = 0; i < std::size(kKvFormats); ++i) {
        const auto format = kKvFormats[i];
        SCOPED_TRACE(name(format));
        EXPECT_EQ(metal[i].engine->kv_format(), format);
        EXPECT_EQ(metal[i].nodes_on(BackendId::Cpu), 0u);
        EXPECT_EQ(fused_projection(metal[i]), format == KvFormat::Q8_0 ? "separate" : "fused");
        EXPECT_LE(nmse(got[i], want[i]), same_cells_bar(format));
        EXPECT_LE(nmse(got[i], got[0]), rounded_cells_bar(format));
        if (i > 0) EXPECT_NE(got[i], got[0]) << "its own cells";
        // Alone, it says the same.
        auto alone = std::vector<Running>();
        alone.push_back(on_metal(model, {}, {.kv_format = format}));
        EXPECT_EQ(tell(alone, tokens)[0], got[i]);
    }
}

TEST(MetalKvFormat, FusedStoresOfF16CellsAndBothOrdersOfQ8_0ChangeNoBit) {
    const SoftwareMetal device(false);
    const auto model = load_model(kStoryModel);
    const auto tokens = random_ids(model, 9);
    auto engines = std::vector<Running>();
    engines.push_back(on_metal(model, {}, {.kv_format = KvFormat::F16}));
    engines.push_back(on_metal(model, {}, {.kv_format = KvFormat::F16, .fuse_qkv = false}));
    engines.push_back(on_metal(model, {}, {.kv_format = KvFormat::Q8_0}));
    engines.push_back(
        on_metal(model, {.attention = {.split_blocks = false}}, {.kv_format = KvFormat::Q8_0}));
    const auto got = tell(engines, tokens);
    EXPECT_EQ(fused_projection(engines[0]), "fused");
    EXPECT_EQ(fused_projection(engines[1]), "separate");
    EXPECT_EQ(got[1], got[0]);
    EXPECT_EQ(got[3], got[2]);
}

}  // namespace
}  // namespace minfer::test
