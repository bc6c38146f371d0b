#include "graph/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/lower.h"
#include "support/toy_model.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

Graph lowered() {
    FakeBackend cpu{BackendId::Cpu, "cpu"}, metal{BackendId::Metal, "metal"};
    Backend* backends[] = {&metal, &cpu};
    const auto params = GraphParams{.n_tokens = 2, .n_ctx = 16, .gpu = true, .gpu_layers = 1};
    auto graph = *ToyModel::build(params);
    lower(graph, params, backends);
    return graph;
}

TEST(Export, JsonDescribesEveryNodeThatRuns) {
    const auto graph = lowered();
    const auto json = Json::parse(to_json(graph, {.model = "toy", .kind = "prefill"}));
    EXPECT_EQ(json["format"], "minfer-graph");
    EXPECT_EQ(json["version"], 1);
    EXPECT_EQ(json["model"], "toy");
    EXPECT_EQ(json["kind"], "prefill");
    EXPECT_EQ(json["inputs"], Json(graph.inputs));
    EXPECT_EQ(json["outputs"], Json(graph.outputs));
    auto by_name = std::map<std::string, Json>();
    for (const auto& node : json["nodes"]) by_name[node["name"]] = node;
    EXPECT_EQ(by_name["blk.0.q"], Json::parse(fmt::format(R"({{
        "id": {}, "name": "blk.0.q", "op": "MatMul", "detail": {{"in_dim": 8, "out_dim": 16}},
        "shape": [16, 2, 1, 1], "dtype": "F32", "backend": "metal", "layer": 0, "src": [{}],
        "weights": [{{"name": "blk.0.q", "role": "weight", "dtype": "F32"}},
                    {{"name": "blk.0.q_bias", "role": "bias", "dtype": "F32"}}]}})",
                                                          graph.find("blk.0.q")->id,
                                                          graph.find("blk.0.attn_norm")->id)));
    EXPECT_EQ(by_name["positions"]["op"], "Input");
    EXPECT_EQ(by_name["positions"]["dtype"], "I32");
    EXPECT_EQ(by_name["output"]["backend"], "cpu");
    EXPECT_FALSE(by_name["output"].contains("layer"));
    EXPECT_EQ(by_name["blk.1.attn"]["detail"]["scale"], 0.5);
    EXPECT_EQ(by_name["blk.1.store"]["detail"]["format"], "f32");
    EXPECT_EQ(by_name["blk.1.q_rope"]["detail"]["style"], "non_interleaved");
    EXPECT_THAT(to_json(graph, {}), HasSubstr("\"eps\": 1e-05"));  // as written in the model
}

TEST(Export, IsTakenAfterFusion) {
    const auto json = Json::parse(to_json(lowered(), {}));
    size_t swiglu = 0;
    for (const auto& node : json["nodes"]) {
        EXPECT_NE(node["op"], "Silu");
        if (node["op"] == "SwiGlu") ++swiglu;
    }
    EXPECT_EQ(swiglu, ToyModel::kLayers);
}

TEST(Export, DescribesFusedNodesAndTheRolesOfTheirWeights) {
    GraphBuilder b;
    const auto x = b.input("x", DType::F32, {64, 1, 1, 1});
    const auto index = b.input("index", DType::I32, {1, 1, 1, 1});
    const auto qkv = op::QkvProjection{.layer = 2,
                                       .weights = {"q", "k", "v"},
                                       .dtype = DType::Q8_0,
                                       .in_dim = 64,
                                       .n_head = 4,
                                       .n_head_kv = 2,
                                       .head_dim = 8,
                                       .layout = kv_layout(KvFormat::F16, 16),
                                       .n_ctx = 32};
    auto one = qkv;
    one.weights = {"all"};
    b.output(b.fused_qkv("bias", x, index, index, {qkv, {"qb", "kb", "vb"}}));
    b.output(b.fused_qkv_norm("norm", x, index, index, {one, 1e-6f, "qn", "kn"}));
    b.output(b.fused_ffn(
        "ffn", x, {.weights = {"gate", "up"}, .dtype = DType::Q4_0, .in_dim = 64, .width = 96}));
    const auto json = Json::parse(to_json(*b.finish(), {}));
    const auto weights = [](std::vector<std::array<const char*, 3>> rows) {
        auto list = Json::array();
        for (const auto& [name, role, dtype] : rows)
            list.push_back({{"name", name}, {"role", role}, {"dtype", dtype}});
        return list;
    };
    const auto& bias = json["nodes"][2];
    EXPECT_EQ(bias["op"], "FusedQkv");
    EXPECT_EQ(bias["detail"], Json::parse(R"({"layer": 2, "in_dim": 64, "n_head": 4,
        "n_head_kv": 2, "head_dim": 8, "style": "non_interleaved", "freq_base": 10000.0,
        "freq_scale": 1.0, "format": "f16", "n_ctx": 32})"));
    EXPECT_EQ(bias["weights"], weights({{"q", "weight", "Q8_0"},
                                        {"k", "weight", "Q8_0"},
                                        {"v", "weight", "Q8_0"},
                                        {"qb", "bias", "F32"},
                                        {"kb", "bias", "F32"},
                                        {"vb", "bias", "F32"}}));
    const auto& norm = json["nodes"][3];
    EXPECT_EQ(norm["detail"]["eps"], 1e-6);
    EXPECT_EQ(norm["weights"],
              weights({{"all", "weight", "Q8_0"}, {"qn", "norm", "F32"}, {"kn", "norm", "F32"}}));
    const auto& ffn = json["nodes"][4];
    EXPECT_EQ(ffn["detail"], (Json{{"in_dim", 64}, {"width", 96}}));
    EXPECT_EQ(ffn["weights"], weights({{"gate", "weight", "Q4_0"}, {"up", "weight", "Q4_0"}}));
}

TEST(Export, DotShowsBackendsEdgesAndBorders) {
    const auto graph = lowered();
    const auto dot = to_dot(graph, {.model = "toy \"x\"", .kind = "prefill"});
    EXPECT_THAT(dot, HasSubstr("digraph \"toy \\\"x\\\" prefill\" {\n"));
    const auto id = [&](std::string_view name) { return graph.find(name)->id; };
    EXPECT_THAT(dot,
                HasSubstr(fmt::format(
                    "n{} [label=\"blk.0.q\\nMatMul F32 [16, 2]\\nin_dim=8 out_dim=16\\nblk.0.q "
                    "F32\\nblk.0.q_bias F32\", fillcolor=lightsalmon, peripheries=1];",
                    id("blk.0.q"))));
    EXPECT_THAT(dot, HasSubstr(fmt::format("n{} -> n{};", id("blk.0.attn_norm"), id("blk.0.q"))));
    EXPECT_THAT(dot, HasSubstr("n0 [label=\"token_ids\\nInput I32 [2]\", fillcolor=lightblue, "
                               "peripheries=2];"));
    EXPECT_THAT(dot, HasSubstr("output F32\", fillcolor=lightblue, peripheries=2];"));
    EXPECT_THAT(dot, Not(HasSubstr(fmt::format("n{} ", id("blk.0.silu")))));
}

TEST(Export, NamesThatAreNoUtf8AreReplaced) {
    GraphBuilder b;
    const auto x = b.input("x\xff", DType::F32, {4, 1, 1, 1});
    b.output(b.rms_norm("n", x, {.weight = "\xc3("}));
    const auto graph = *b.finish();
    EXPECT_THAT(to_json(graph, {.model = "\xfe"}), HasSubstr("x\xef\xbf\xbd"));
    EXPECT_THAT(to_dot(graph, {}), HasSubstr("x\xef\xbf\xbd"));
    EXPECT_THAT(to_json(graph, {}), HasSubstr("\"backend\": null"));
}

}  // namespace
}  // namespace minfer
