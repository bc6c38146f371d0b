#include "model/fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "support/retyped_model.h"
#include "support/temp_dir.h"
#include "support/tiny_model.h"

namespace minfer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A decode graph with every block on a device.
Graph decode_graph(const Model& model, GraphParams params = {}) {
    params.gpu = true;
    params.gpu_layers = std::max(params.gpu_layers, size_t{1});
    params.n_ctx = 32;
    auto graph = model.build(params);
    EXPECT_TRUE(graph) << graph.error().what;
    return *std::move(graph);
}

std::vector<std::string> nodes_of(const Graph& graph, std::string_view op) {
    std::vector<std::string> names;
    for (const auto& node : graph.nodes)
        if (op_name(node.op) == op) names.push_back(node.name);
    return names;
}

constexpr auto kAll = GraphParams{.gpu_layers = SIZE_MAX, .fuse_qkv = true, .fuse_ffn = true};

TEST(Fusion, EveryBlockTypeFusesAndFloatTypesDoNot) {
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"})
        for (const auto type : {DType::Q4_0, DType::Q5_1, DType::Q8_0, DType::Q4_K, DType::Q6_K,
                                DType::F32, DType::F16, DType::BF16}) {
            const TinyModel tiny(shape, type);
            const bool blocks = info(type).block_values > 1;
            EXPECT_EQ(can_fuse_qkv(tiny.model, 0), blocks) << shape << ' ' << name(type);
            EXPECT_EQ(can_fuse_ffn(tiny.model, 1), blocks) << shape << ' ' << name(type);
            EXPECT_EQ(nodes_of(decode_graph(tiny.model, kAll), "FusedFfn").size(),
                      blocks ? tiny.model.hparams().n_layer : 0);
        }
}

TEST(Fusion, Qwen2FusesWithBiasesAndQwen3WithNorms) {
    const TinyModel qwen2("tiny-qwen2", DType::Q8_0), qwen3("tiny-qwen3", DType::Q8_0);
    const auto biased = decode_graph(qwen2.model, kAll), normed = decode_graph(qwen3.model, kAll);
    EXPECT_EQ(nodes_of(biased, "FusedQkv").size(), qwen2.model.hparams().n_layer);
    EXPECT_THAT(op_weights(biased.find("blk.1.attn_qkv")->op),
                ElementsAre("blk.1.attn_q.weight", "blk.1.attn_k.weight", "blk.1.attn_v.weight",
                            "blk.1.attn_q.bias", "blk.1.attn_k.bias", "blk.1.attn_v.bias"));
    EXPECT_EQ(nodes_of(normed, "FusedQkvNorm").size(), qwen3.model.hparams().n_layer);
    EXPECT_THAT(op_weights(normed.find("blk.0.attn_qkv")->op),
                ElementsAre("blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight",
                            "blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight"));
    for (const auto* const graph : {&biased, &normed}) {
        EXPECT_THAT(nodes_of(*graph, "KvStore"), IsEmpty());
        EXPECT_THAT(nodes_of(*graph, "Rope"), IsEmpty());
        EXPECT_THAT(nodes_of(*graph, "Silu"), IsEmpty());
    }
}

TEST(Fusion, NeedsTheSwitchADecodeStepAndABlockOnADevice) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    const auto count = [&](GraphParams params) {
        params.n_ctx = 32;
        const auto graph = tiny.model.build(params);
        EXPECT_TRUE(graph);
        return std::pair(nodes_of(*graph, "FusedQkvNorm").size(),
                         nodes_of(*graph, "FusedFfn").size());
    };
    const auto n = tiny.model.hparams().n_layer;
    auto params = kAll;
    params.gpu = true;
    EXPECT_EQ(count(params), std::pair(n, n));
    const auto but = [&](auto change) {
        auto changed = params;
        change(changed);
        return count(changed);
    };
    EXPECT_EQ(but([](auto& p) { p.fuse_qkv = false; }), std::pair(size_t{0}, n));
    EXPECT_EQ(but([](auto& p) { p.fuse_ffn = false; }), std::pair(n, size_t{0}));
    EXPECT_EQ(but([](auto& p) { p.gpu = false; }), std::pair(size_t{0}, size_t{0}));
    EXPECT_EQ(but([](auto& p) { p.n_tokens = 2; }), std::pair(size_t{0}, size_t{0}));
    EXPECT_EQ(but([](auto& p) { p.gpu_layers = 1; }), std::pair(size_t{1}, size_t{1}));
    // A packed cache takes the chain that stores it; the feed-forward does not care.
    EXPECT_EQ(but([](auto& p) { p.kv_format = KvFormat::Q8_0; }), std::pair(size_t{0}, n));
    EXPECT_EQ(but([](auto& p) { p.kv_format = KvFormat::F16; }), std::pair(n, n));
    // Windows do not matter: the cell to store is an input.
    EXPECT_EQ(but([](auto& p) { p.explicit_span = true; }), std::pair(n, n));
}

TEST(Fusion, ABlockOfMixedTypesKeepsItsChain) {
    const auto mixed = TinyModel(retyped_model(
        tiny_model_bytes("tiny-qwen3", DType::Q8_0),
        {{"blk.0.attn_v.weight", DType::Q4_0}, {"blk.1.ffn_up.weight", DType::Q5_0}}));
    const auto graph = decode_graph(mixed.model, kAll);
    EXPECT_EQ(graph.find("blk.0.attn_qkv"), nullptr);
    EXPECT_NE(graph.find("blk.0.attn_v"), nullptr);
    EXPECT_NE(graph.find("blk.1.attn_qkv"), nullptr);
    EXPECT_NE(graph.find("blk.0.ffn_gu"), nullptr);
    EXPECT_EQ(graph.find("blk.1.ffn_gu"), nullptr);
}

// One block of this feed-forward width.
std::vector<std::byte> wide_model(uint32_t n_ff) {
    auto shape = random_model_shapes()[0];
    shape.n_layer = 1;
    shape.n_ff = n_ff;
    gguf::Writer writer;
    const auto added = add_random_model(writer, shape, DType::Q4_0);
    MINFER_ASSERT(added);
    return *writer.bytes();
}

TEST(Fusion, AFeedForwardWiderThanTheBoundKeepsItsChainAndIsNotJoined) {
    for (const uint32_t n_ff : {16384u, 16416u}) {
        auto tiny = TinyModel(wide_model(n_ff));
        EXPECT_EQ(can_fuse_ffn(tiny.model, 0), n_ff == 16384) << n_ff;
        EXPECT_EQ(decode_graph(tiny.model, kAll).find("blk.0.ffn_gu") != nullptr, n_ff == 16384);
        ASSERT_TRUE(tiny.model.join_weights(true, true));
        EXPECT_EQ(tiny.model.has_weight("blk.0.ffn_gu.weight"), n_ff == 16384);
        EXPECT_TRUE(tiny.model.has_weight("blk.0.attn_qkv.weight"));
    }
}

TEST(JoinedWeights, HoldTheRowsOfTheirPartsOneAfterTheOther) {
    TinyModel tiny("tiny-qwen2", DType::Q4_K, "a/");
    auto& model = tiny.model;
    const auto n_weights = model.weights().size(), n_parameters = model.n_parameters();
    EXPECT_FALSE(model.has_weight("blk.0.attn_qkv.weight"));
    ASSERT_TRUE(model.join_weights(true, true));
    EXPECT_EQ(model.weights().size(), n_weights + 2 * model.hparams().n_layer);
    EXPECT_EQ(model.n_parameters(), n_parameters);
    for (size_t block = 0; block < model.hparams().n_layer; ++block)
        for (const auto& weights : {qkv_weights(block), ffn_weights(block)}) {
            const auto* const joined = model.find_weight(weights.joined);
            ASSERT_NE(joined, nullptr) << weights.joined;
            EXPECT_EQ(joined->name, "a/" + weights.joined);
            std::vector<std::byte> bytes;
            size_t rows = 0;
            for (const auto& part : weights.parts) {
                const auto* const weight = model.find_weight(part);
                ASSERT_NE(weight, nullptr) << part;
                bytes.insert(bytes.end(), weight->data.begin(), weight->data.end());
                rows += weight->shape[1];
                EXPECT_EQ(joined->dtype, weight->dtype);
                EXPECT_EQ(joined->shape[0], weight->shape[0]);
            }
            EXPECT_EQ(joined->shape[1], rows);
            EXPECT_TRUE(std::ranges::equal(joined->data, bytes)) << weights.joined;
        }
    ASSERT_TRUE(model.join_weights(true, true));  // once is enough
    EXPECT_EQ(model.weights().size(), n_weights + 2 * model.hparams().n_layer);
}

TEST(JoinedWeights, LieInWholePagesThatADeviceCanWrap) {
    TinyModel tiny("tiny-qwen3", DType::Q8_0);
    EXPECT_THAT(tiny.model.mappings(), IsEmpty());  // a file in memory has no pages of its own
    ASSERT_TRUE(tiny.model.join_weights(true, false));
    EXPECT_FALSE(tiny.model.has_weight("blk.0.ffn_gu.weight"));
    ASSERT_EQ(tiny.model.mappings().size(), 1u);
    const auto pages = tiny.model.mappings()[0];
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages.data()) % kMetalPage, 0u);
    EXPECT_EQ(pages.size() % kMetalPage, 0u);
    const auto& data = tiny.model.find_weight("blk.1.attn_qkv.weight")->data;
    EXPECT_GE(data.data(), pages.data());
    EXPECT_LE(data.data() + data.size(), pages.data() + pages.size());
}

TEST(JoinedWeights, AreNamedByFusedNodesOnlyWhenAskedFor) {
    TinyModel tiny("tiny-qwen2", DType::Q8_0);
    auto params = kAll;
    params.concat_weights = true;
    // Not made: the chain.
    EXPECT_EQ(decode_graph(tiny.model, params).find("blk.0.attn_qkv"), nullptr);
    ASSERT_TRUE(tiny.model.join_weights(true, true));
    const auto joined = decode_graph(tiny.model, params);
    EXPECT_THAT(op_weights(joined.find("blk.0.attn_qkv")->op),
                ElementsAre("blk.0.attn_qkv.weight", "blk.0.attn_q.bias", "blk.0.attn_k.bias",
                            "blk.0.attn_v.bias"));
    EXPECT_THAT(op_weights(joined.find("blk.1.ffn_gu")->op), ElementsAre("blk.1.ffn_gu.weight"));
    EXPECT_EQ(op_weights(decode_graph(tiny.model, kAll).find("blk.1.ffn_gu")->op).size(), 2u);
}

TEST(Model, EveryNameAGraphUsesCarriesThePrefix) {
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"})
        for (const bool fused : {false, true}) {
            const TinyModel tiny(shape, DType::Q8_0, "draft/");
            const auto graph = decode_graph(tiny.model, fused ? kAll : GraphParams{});
            for (const auto& node : graph.nodes) {
                EXPECT_THAT(node.name, testing::Not(testing::StartsWith("draft/")));
                for (const auto weight : op_weights(node.op)) {
                    EXPECT_THAT(weight, testing::StartsWith("draft/")) << node.name;
                    EXPECT_NE(std::ranges::find(tiny.model.weights(), weight, &Weight::name),
                              tiny.model.weights().end())
                        << weight;
                }
            }
            EXPECT_TRUE(tiny.model.has_weight("output_norm.weight"));
            EXPECT_FALSE(tiny.model.has_weight("draft/output_norm.weight"));
        }
}

TEST(Model, ItsFilesPagesAreMappings) {
    const TempDir dir;
    gguf::Writer writer;
    ASSERT_TRUE(add_random_model(writer, random_model_shapes()[0], DType::Q8_0));
    ASSERT_TRUE(writer.write(dir.path() / "m.gguf"));
    const auto model = Model::load(dir.path() / "m.gguf");
    ASSERT_TRUE(model) << model.error().what;
    ASSERT_EQ(model->mappings().size(), 1u);
    EXPECT_EQ(model->mappings()[0].data(), model->file().parts()[0].pages().data());
    EXPECT_EQ(model->mappings()[0].size(), model->file().parts()[0].pages().size());
}

}  // namespace
}  // namespace minfer
