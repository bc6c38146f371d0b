// Parts of a model's graph on Metal: where a difference of the whole would begin.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "conformance/engines.h"
#include "runtime/offload.h"
#include "support/golden.h"
#include "support/nmse.h"
#include "support/op_rig.h"
#include "support/random_data.h"
#include "support/reference.h"
#include "support/software_metal.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

// Runs the graph of a prompt up to the end of its first block; what every node in it computed.
std::map<std::string, std::vector<float>> first_block(const Model& model,
                                                      std::vector<Backend*> backends,
                                                      std::span<const TokenId> tokens) {
    const auto placed = offload(model, backends, SIZE_MAX);
    MINFER_ASSERT(placed);
    const auto build = [&model](const GraphParams& params) -> Result<Graph> {
        auto graph = MINFER_TRY(model.build(params));
        const auto* const last = graph.find("blk.0.ffn_residual");
        graph.nodes.resize(last->id + 1);
        graph.outputs.clear();
        for (const auto& node : graph.nodes)
            if (!std::holds_alternative<op::Input>(node.op) &&
                !std::holds_alternative<op::KvStore>(node.op) &&
                !std::holds_alternative<op::KvLoad>(node.op) && node.name != "blk.0.ffn_silu" &&
                node.name != "blk.0.ffn_act")
                graph.outputs.push_back(node.id);
        return graph;
    };
    auto runner = GraphRunner(placed->backends, build);
    const auto n = tokens.size();
    const auto params = GraphParams{.n_tokens = n,
                                    .n_out = n,
                                    .n_ctx = 64,
                                    .gpu = placed->on_device(),
                                    .gpu_layers = placed->gpu_layers};
    auto bound = runner.bind(params);
    EXPECT_TRUE(bound) << bound.error().what;
    auto positions = std::vector<int32_t>(n), window = std::vector<int32_t>(2 * n);
    std::iota(positions.begin(), positions.end(), 0);
    std::iota(window.begin() + static_cast<ptrdiff_t>(n), window.end(), 1);
    const auto write = [&](std::string_view name, auto values) {
        if (!runner.has_input(name)) return;
        const auto done = runner.write_input(name, std::as_bytes(values));
        EXPECT_TRUE(done) << done.error().what;
    };
    write("token_ids", tokens);
    write("positions", std::span(positions));
    write("cells", std::span(positions));
    write("attn_span", std::span(window));
    const auto done = runner.execute();
    EXPECT_TRUE(done) << done.error().what;

    auto values = std::map<std::string, std::vector<float>>();
    const auto& graph = runner.graph();
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
        const auto& node = graph.node(graph.outputs[i]);
        EXPECT_EQ(node.backend, placed->backends.front()->id()) << node.name;
        auto& out = values[node.name];
        out.resize(elements(node.shape));
        const auto read = runner.read_output(i, out);
        EXPECT_TRUE(read) << read.error().what;
    }
    return values;
}

TEST(MetalGraph, graph_metal_layer0_isolation) {
    const SoftwareMetal device;
    const auto model = load_model(kStoryModel);
    const auto tokens = encode(model, "Once upon a time there was a little red hen");
    const auto metal = make_metal_backend({.gemm_f32_tiles = true});
    ASSERT_TRUE(metal) << metal.error().what;
    const auto cpu = make_cpu_backend({.activations = CpuActivations::F32});
    const auto got = first_block(model, {metal->get(), cpu.get()}, tokens);
    const auto want = first_block(model, {cpu.get()}, tokens);
    ASSERT_EQ(got.size(), want.size());
    for (const auto* const part : {"embed", "blk.0.attn_q", "blk.0.attn", "blk.0.ffn_residual"})
        EXPECT_TRUE(want.contains(part)) << part;
    for (const auto& [name, values] : want)
        EXPECT_LE(nmse(got.at(name), values), kMatmulBar) << name;
}

TEST(MetalGraph, graph_metal_real_wk_matmul) {
    const SoftwareMetal device;
    const auto model = load_model(kStoryModel);
    const auto& wk = *model.find_weight("blk.0.attn_k.weight");
    const auto in_dim = wk.shape[0], out_dim = wk.shape[1];
    const auto w = dequantized(wk.dtype, {wk.data.begin(), wk.data.end()});
    for (const size_t n_tokens : {size_t{1}, size_t{5}, size_t{30}}) {
        auto metal = make_metal_backend({.gemm_f32_tiles = true});
        ASSERT_TRUE(metal) << metal.error().what;
        auto rig = OpRig(*std::move(metal));
        rig.weight("wk", wk.dtype, wk.shape, wk.data);
        const auto x = random_floats(in_dim * n_tokens, 1);
        const auto got = rig.run(
            op::MatMul{.weight = "wk", .dtype = wk.dtype, .in_dim = in_dim, .out_dim = out_dim},
            {out_dim, n_tokens, 1, 1}, {rig.floats(x)});
        EXPECT_EQ(got.error, "");
        EXPECT_LE(nmse(got.values, reference::matmul(w, {}, reference::widened(x), in_dim)),
                  kMatmulBar)
            << n_tokens;
    }
}

// The first tokens of a greedy llama.cpp run: tests/golden/make_story_greedy.py.
TEST(MetalGraph, graph_metal_matches_llama_reference) {
    const SoftwareMetal device(false);
    const auto golden = nlohmann::json::parse(read_golden("story_greedy.json"));
    const auto want = golden["tokens"].get<std::vector<int>>();
    ASSERT_EQ(want.size(), 9u);
    const auto model = load_model(kStoryModel);
    const auto prompt = encode(model, golden["prompt"].get<std::string>());
    const auto greedy = [&](Running running, BackendId backend) {
        auto tokens = std::vector<int>();
        auto logits = running.evaluate(prompt);
        while (tokens.size() < want.size() && !logits.empty()) {
            const auto token = best(logits);
            tokens.push_back(static_cast<int>(token));
            logits = running.evaluate(std::span(&token, 1));
        }
        EXPECT_EQ(running.nodes_on(backend), running.engine->graph().nodes.size());
        return tokens;
    };
    EXPECT_EQ(greedy(on_metal(model), BackendId::Metal), want);
    EXPECT_EQ(greedy(on_cpu(model), BackendId::Cpu), want);
    EXPECT_EQ(greedy(on_cpu(model, CpuActivations::Quantized), BackendId::Cpu), want);
}

}  // namespace
}  // namespace minfer::test
