#include "graph/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "support/toy_model.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;

// A runner over the toy model with one sequence whose cells are its positions.
struct Toy {
    FakeBackend cpu{BackendId::Cpu, "cpu"};
    FakeBackend gpu{BackendId::Metal, "metal"};
    GraphRunner runner;

    explicit Toy(GraphRunner::Build build = ToyModel::build)
        : runner({&gpu, &cpu}, std::move(build)) {
        ToyModel::register_weights(cpu);
        ToyModel::register_weights(gpu);
    }

    Result<> fill(std::string_view name, const std::vector<int32_t>& values) {
        return runner.write_input(name, std::as_bytes(std::span(values)));
    }

    // Feeds the tokens at positions n_past, n_past + 1, ... and returns the logits.
    Result<std::vector<float>> step(GraphParams p, const std::vector<int32_t>& tokens,
                                    int32_t n_past) {
        p.n_tokens = tokens.size();
        p.n_ctx = 16;
        MINFER_TRY(runner.bind(p));
        auto positions = std::vector<int32_t>(tokens.size());
        std::iota(positions.begin(), positions.end(), n_past);
        auto window = std::vector<int32_t>(2 * tokens.size(), 0);
        for (size_t t = 0; t < tokens.size(); ++t) window[tokens.size() + t] = positions[t] + 1;
        MINFER_TRY(fill("token_ids", tokens));
        MINFER_TRY(fill("positions", positions));
        MINFER_TRY(fill("cells", positions));
        MINFER_TRY(fill("attn_span", window));
        if (runner.has_input("tail_ids")) {
            auto tail = std::vector<int32_t>(p.n_out);
            std::iota(tail.begin(), tail.end(), static_cast<int32_t>(tokens.size() - p.n_out));
            MINFER_TRY(fill("tail_ids", tail));
        }
        MINFER_TRY(runner.execute());
        auto logits = std::vector<float>(p.n_out * ToyModel::kVocab);
        MINFER_TRY(runner.read_output(0, logits));
        return logits;
    }
};

const auto kPrompt = std::vector<int32_t>{3, 1, 4, 1, 5};

std::vector<float> cpu_logits(size_t n_out) {
    Toy toy;
    return *toy.step({.n_out = n_out}, kPrompt, 0);
}

TEST(GraphRunner, PrefillAndTokenByTokenAgreeBitwise) {
    const auto whole = cpu_logits(5);
    Toy toy;
    for (size_t t = 0; t < kPrompt.size(); ++t) {
        const auto one = toy.step({}, {kPrompt[t]}, static_cast<int32_t>(t));
        ASSERT_TRUE(one) << one.error().what;
        const auto row = std::span(whole).subspan(t * ToyModel::kVocab, ToyModel::kVocab);
        EXPECT_TRUE(std::ranges::equal(*one, row)) << "token " << t;
    }
    EXPECT_FALSE(std::isnan(whole.back()));
    EXPECT_EQ(toy.runner.counters().builds, 1u);
    EXPECT_EQ(toy.runner.counters().reuses, 4u);
    EXPECT_EQ(toy.runner.counters().remaps, 1u);
}

TEST(GraphRunner, TailRowsAreTheLastRowsOfTheWhole) {
    const auto whole = cpu_logits(5);
    const auto tail = cpu_logits(2);
    EXPECT_TRUE(std::ranges::equal(tail, std::span(whole).last(2 * ToyModel::kVocab)));
}

TEST(GraphRunner, RunsTheFusedGraph) {
    Toy toy;
    toy.cpu.tracing = true;
    ASSERT_TRUE(toy.step({}, {1}, 0));
    EXPECT_EQ(toy.runner.graph().find("blk.0.gated")->op, Op(op::SwiGlu{}));
    EXPECT_EQ(std::ranges::count(toy.cpu.trace, "blk.0.silu"), 0);
    EXPECT_EQ(std::ranges::count(toy.cpu.trace, "blk.0.gated"), 1);
    EXPECT_EQ(std::ranges::count(toy.cpu.trace, "blk.0.load"), 0);
    EXPECT_EQ(toy.runner.counters().nodes_run, toy.cpu.trace.size());
}

TEST(GraphRunner, EveryPlacementGivesTheSameBitsWithTheCopiesItNeeds) {
    const auto expected = cpu_logits(5);
    struct Case {
        const char* what;
        size_t gpu_layers;
        std::set<std::string, std::less<>> refused;
        size_t copies;
    };
    const auto cases = std::vector<Case>{
        {"everything on the device", 2, {}, 0},
        // h, positions, cells and window over; the first block's result back.
        {"the first block on the device", 1, {}, 5},
        {"no block on the device", 0, {}, 0},
        // Over and back for each of the five norms.
        {"norms on the CPU", 2, {"RmsNorm"}, 10},
        // Per block: the norm's result over; q, k, v back; attention over, its projection back;
        // the norm over, gate and up back; the product over, its projection back. Head: one over,
        // and its result stays, as an output read from the CPU.
        {"matmuls on the CPU", 2, {"MatMul"}, 2 * (1 + 3 + 1 + 1 + 1 + 2 + 1 + 1) + 1},
        // Per block: q, k and v over, the result back. The window and the cells are read on the
        // CPU only and lie there; positions are read by RoPE on the device and by attention.
        {"caches on the CPU", 2, {"Attention"}, 2 * (3 + 1) + 1},
    };
    for (const auto& c : cases) {
        Toy toy;
        toy.gpu.refused_ops = c.refused;
        const auto params = GraphParams{.n_out = 5, .gpu = true, .gpu_layers = c.gpu_layers};
        const auto logits = toy.step(params, kPrompt, 0);
        ASSERT_TRUE(logits) << c.what << ": " << logits.error().what;
        EXPECT_EQ(*logits, expected) << c.what;
        EXPECT_EQ(toy.runner.counters().boundary_copies, c.copies) << c.what;
    }
}

TEST(GraphRunner, AGraphRunsAgainWithoutFillingItsInputs) {
    for (const char* refused : {"", "RmsNorm", "Attention"}) {
        Toy toy;
        toy.gpu.refused_ops = {refused};
        const auto first = toy.step({.n_out = 5, .gpu = true, .gpu_layers = 2}, kPrompt, 0);
        ASSERT_TRUE(first);
        ASSERT_TRUE(toy.runner.execute());
        auto again = std::vector<float>(first->size());
        ASSERT_TRUE(toy.runner.read_output(0, again));
        EXPECT_EQ(*first, again) << refused;
    }
}

TEST(GraphRunner, KvRegionsAreOnTheBlocksBackendAndStay) {
    Toy toy;
    EXPECT_FALSE(toy.runner.kv(0));
    ASSERT_TRUE(toy.step({.gpu = true, .gpu_layers = 1}, {1}, 0));
    const auto first = *toy.runner.kv(0);
    EXPECT_EQ(first.k.backend, BackendId::Metal);
    EXPECT_EQ(toy.runner.kv(1)->v.backend, BackendId::Cpu);
    EXPECT_EQ(first.k.bytes, 16 * ToyModel::kKv * sizeof(float));
    ASSERT_TRUE(toy.step({.gpu = true, .gpu_layers = 1}, {1, 2, 3}, 1));
    EXPECT_EQ(toy.runner.kv(0)->k, first.k);
    EXPECT_FALSE(toy.runner.kv(2));
}

TEST(GraphRunner, CachedGraphsShareTheirMemory) {
    Toy toy;
    ASSERT_TRUE(toy.step({.n_out = 5}, kPrompt, 0));
    const size_t bytes = toy.cpu.pool_bytes(), count = toy.cpu.pool_count();
    for (size_t n = 4; n > 0; --n)
        ASSERT_TRUE(toy.step({.n_out = n}, std::vector<int32_t>(n, 1), 0));
    EXPECT_EQ(toy.cpu.pool_bytes(), bytes);
    EXPECT_EQ(toy.cpu.pool_count(), count);
}

TEST(GraphRunner, SwitchingBetweenCachedGraphsOnlySwaps) {
    Toy toy;
    toy.gpu.refused_ops = {"RmsNorm"};
    const auto params = GraphParams{.gpu = true, .gpu_layers = 2};
    ASSERT_TRUE(toy.step(params, kPrompt, 0));
    const auto decode_uid = [&] { return toy.runner.graph().uid; };
    const auto prefill = decode_uid();
    const auto one = toy.step(params, {7}, 5);
    const auto decode = decode_uid();
    EXPECT_GT(prefill, 0u);
    EXPECT_GT(decode, prefill);
    const size_t count = toy.cpu.pool_count() + toy.gpu.pool_count();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(toy.step(params, kPrompt, 0));
        EXPECT_EQ(decode_uid(), prefill);
        EXPECT_EQ(*toy.step(params, {7}, 5), *one);
        EXPECT_EQ(decode_uid(), decode);
    }
    EXPECT_EQ(toy.runner.counters().builds, 2u);
    EXPECT_EQ(toy.runner.counters().remaps, 2u);
    EXPECT_EQ(toy.runner.counters().reuses, 6u);
    EXPECT_EQ(toy.cpu.pool_count() + toy.gpu.pool_count(), count);
}

// A graph that takes any params, to look at the cache alone.
Result<Graph> one_silu(const GraphParams& params) {
    GraphBuilder b;
    const auto x = b.input("x", DType::F32, {params.n_tokens, 1, 1, 1});
    b.set_layer(0);
    b.output(b.silu("y", x));
    return b.finish();
}

TEST(GraphRunner, EveryParamIsPartOfTheIdentity) {
    const auto base = GraphParams{};
    auto others = std::vector<GraphParams>(12, base);
    others[0].n_tokens = 2;
    others[1].n_out = 2;
    others[2].n_ctx = 8;
    others[3].gpu = true;
    others[4].gpu_layers = 1;
    others[5].explicit_span = true;
    others[6].kv_map = true;
    others[7].kv_format = KvFormat::F16;
    others[8].weights_version = 2;
    others[9].fuse_qkv = true;
    others[10].fuse_ffn = true;
    others[11].concat_weights = true;
    for (const auto& other : others) {
        Toy toy(one_silu);
        ASSERT_TRUE(toy.runner.bind(base));
        ASSERT_TRUE(toy.runner.bind(other));
        EXPECT_EQ(toy.runner.counters().builds, 2u);
        ASSERT_TRUE(toy.runner.bind(base));
        ASSERT_TRUE(toy.runner.bind(other));
        EXPECT_EQ(toy.runner.counters().builds, 2u);
        EXPECT_EQ(toy.runner.counters().reuses, 2u);
    }
}

TEST(GraphRunner, TheNinthGraphEvictsTheOldest) {
    Toy toy(one_silu);
    for (size_t n = 1; n <= 8; ++n) ASSERT_TRUE(toy.runner.bind({.n_tokens = n}));
    ASSERT_TRUE(toy.runner.bind({.n_tokens = 1}));  // 2 is the oldest now
    ASSERT_TRUE(toy.runner.bind({.n_tokens = 9}));
    EXPECT_EQ(toy.runner.counters().builds, 9u);
    for (const size_t n : {1u, 3u, 4u, 5u, 6u, 7u, 8u, 9u})
        ASSERT_TRUE(toy.runner.bind({.n_tokens = n}));
    EXPECT_EQ(toy.runner.counters().builds, 9u);
    ASSERT_TRUE(toy.runner.bind({.n_tokens = 2}));
    EXPECT_EQ(toy.runner.counters().builds, 10u);
}

TEST(GraphRunner, EvictionFreesStaging) {
    // Two nodes on two backends: one staging buffer per graph.
    Toy toy([](const GraphParams& params) -> Result<Graph> {
        GraphBuilder b;
        const auto x = b.input("x", DType::F32, {params.n_tokens, 1, 1, 1});
        b.output(b.scale("z", b.silu("y", x), 2));
        return b.finish();
    });
    toy.gpu.refused_ops = {"Silu"};
    for (size_t n = 1; n <= 8; ++n) ASSERT_TRUE(toy.runner.bind({.n_tokens = n, .gpu = true}));
    const size_t in_use = toy.gpu.buffers_in_use();
    EXPECT_EQ(in_use, 8u + 1u);
    for (size_t n = 9; n <= 20; ++n) ASSERT_TRUE(toy.runner.bind({.n_tokens = n, .gpu = true}));
    EXPECT_EQ(toy.gpu.buffers_in_use(), in_use);
}

TEST(GraphRunner, EverythingGoesBackToThePoolsAtTheEnd) {
    FakeBackend cpu{BackendId::Cpu}, gpu{BackendId::Metal};
    ToyModel::register_weights(cpu);
    ToyModel::register_weights(gpu);
    {
        GraphRunner runner({&gpu, &cpu}, ToyModel::build);
        ASSERT_TRUE(runner.bind({.n_ctx = 16, .gpu = true, .gpu_layers = 1}));
        EXPECT_GT(cpu.buffers_in_use(), 0u);
        EXPECT_GT(gpu.buffers_in_use(), 0u);
    }
    EXPECT_EQ(cpu.buffers_in_use(), 0u);
    EXPECT_EQ(gpu.buffers_in_use(), 0u);
}

TEST(GraphRunner, CheckReuseComparesWithAFreshBuild) {
    Toy toy;
    ASSERT_TRUE(toy.runner.bind({.n_tokens = 3, .n_ctx = 16}));
    EXPECT_TRUE(toy.runner.check_reuse());
    float factor = 1;
    Toy moody([&](const GraphParams&) -> Result<Graph> {
        GraphBuilder b;
        const auto x = b.input("x", DType::F32, {4, 1, 1, 1});
        b.output(b.scale("y", x, factor++));
        return b.finish();
    });
    ASSERT_TRUE(moody.runner.bind({}));
    const auto checked = moody.runner.check_reuse();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().what, "equal params built node 'y' (Scale), then 'y' (Scale)");
}

TEST(GraphRunner, InputsAreFoundByNameAndTakeTheirExactSize) {
    Toy toy;
    ASSERT_TRUE(toy.runner.bind({.n_tokens = 3, .n_ctx = 16}));
    EXPECT_TRUE(toy.runner.has_input("tail_ids"));
    EXPECT_FALSE(toy.runner.has_input("kv_map"));
    EXPECT_FALSE(toy.runner.has_input("embd"));  // a node, but no input
    EXPECT_EQ(toy.fill("cells", {1, 2}).error().what, "input 'cells' takes 12 bytes, not 8");
    EXPECT_EQ(toy.fill("kv_map", {1}).error().what, "the graph has no input 'kv_map'");
}

TEST(GraphRunner, InputsHaveToBeFilledAgainAfterASwitch) {
    Toy toy;
    ASSERT_TRUE(toy.step({}, {1}, 0));
    ASSERT_TRUE(toy.runner.bind({.n_tokens = 2, .n_out = 2, .n_ctx = 16}));
    ASSERT_TRUE(toy.runner.bind({.n_ctx = 16}));
    EXPECT_EQ(toy.runner.execute().error().what,
              "input 'token_ids' was not filled since this graph became current");
    auto logits = std::vector<float>(ToyModel::kVocab);
    EXPECT_EQ(toy.runner.read_output(0, logits).error().what,
              "output 'output' was not computed since this graph became current");
    // seq_ids was never filled, but nobody reads it.
    EXPECT_TRUE(toy.step({}, {1}, 0));
}

TEST(GraphRunner, OutputsAreCheckedByIndexAndSize) {
    Toy toy;
    ASSERT_TRUE(toy.step({}, {1}, 0));
    auto few = std::vector<float>(3);
    EXPECT_EQ(toy.runner.read_output(0, few).error().what, "output 'output' has 11 values, not 3");
    EXPECT_EQ(toy.runner.read_output(1, few).error().what, "output 1 of a graph with 1");
}

TEST(GraphRunner, AFailedNodeEndsTheStepAndLeavesNoOutput) {
    Toy toy;
    ASSERT_TRUE(toy.step({}, {1}, 0));
    toy.cpu.fail_node = "blk.1.o";
    const auto failed = toy.step({}, {2}, 1);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::Device);
    EXPECT_EQ(failed.error().what, "node 'blk.1.o': failed on request");
    auto logits = std::vector<float>(ToyModel::kVocab);
    EXPECT_FALSE(toy.runner.read_output(0, logits));
    toy.cpu.fail_node = "";
    EXPECT_TRUE(toy.step({}, {2}, 1));
}

TEST(GraphRunner, AFailedNodeLeavesNothingPendingOnItsBackend) {
    Toy toy;
    const auto params = GraphParams{.gpu = true, .gpu_layers = 2};
    const auto want = toy.step(params, {1}, 0);
    ASSERT_TRUE(want);
    toy.gpu.fail_node = "blk.1.o";
    const auto before = toy.gpu.synchronized;
    ASSERT_FALSE(toy.step(params, {1}, 0));
    EXPECT_EQ(toy.gpu.synchronized, before + 1);
    toy.gpu.fail_node = "";
    EXPECT_EQ(*toy.step(params, {1}, 0), *want);
}

TEST(GraphRunner, FusedDecodeEqualsTheChainBitwise) {
    struct Case {
        bool qkv, ffn, concat;
        size_t nodes;  // of one decode step
    };
    // The chain: embedding, per block norm, q, k, v, two rotations, store, attention, o, add,
    // norm, gate, up, SwiGLU, down, add; norm and head.
    constexpr size_t kChain = 1 + 2 * 16 + 2;
    for (const auto& c : {Case{true, false, false, kChain - 2 * 5},
                          {true, false, true, kChain - 10},
                          {false, true, false, kChain - 2 * 2},
                          {true, true, true, kChain - 14}}) {
        Toy chain, fused;
        auto params = GraphParams{.gpu = true, .gpu_layers = 2};
        ASSERT_TRUE(chain.step(params, kPrompt, 0));
        ASSERT_TRUE(fused.step(params, kPrompt, 0));
        params.fuse_qkv = c.qkv;
        params.fuse_ffn = c.ffn;
        params.concat_weights = c.concat;
        for (int32_t position = 5; position < 8; ++position) {
            const auto want = chain.step({.gpu = true, .gpu_layers = 2}, {position}, position);
            const auto before = fused.runner.counters().nodes_run;
            const auto got = fused.step(params, {position}, position);
            ASSERT_TRUE(want && got) << got.error().what;
            EXPECT_EQ(*got, *want);
            EXPECT_EQ(fused.runner.counters().nodes_run - before, c.nodes);
        }
        EXPECT_EQ(fused.runner.counters().boundary_copies, 0u);
    }
}

TEST(GraphRunner, AFusedProjectionStoresThoughNobodyAttends) {
    Toy toy([](const GraphParams& p) -> Result<Graph> {
        GraphBuilder b;
        const auto x = b.input("x", DType::F32, {ToyModel::kWidth, 1, 1, 1});
        const auto index = b.input("index", DType::I32, {1, 1, 1, 1});
        const auto layout = kv_layout(KvFormat::F32, ToyModel::kKv);
        b.set_layer(0);
        b.fused_qkv("qkv", x, index, index,
                    {.qkv = {.weights = {"blk.0.qkv"},
                             .in_dim = ToyModel::kWidth,
                             .n_head = ToyModel::kHeads,
                             .n_head_kv = ToyModel::kKvHeads,
                             .head_dim = ToyModel::kDim,
                             .layout = layout,
                             .n_ctx = p.n_ctx},
                     .biases = {"blk.0.q_bias", "blk.0.k_bias", "blk.0.v_bias"}});
        b.output(b.silu("y", x));
        return b.finish();
    });
    ASSERT_TRUE(toy.runner.bind({.n_ctx = 4, .gpu = true, .gpu_layers = 1}));
    const auto x = std::vector<float>(ToyModel::kWidth, 1);
    ASSERT_TRUE(toy.runner.write_input("x", std::as_bytes(std::span(x))));
    ASSERT_TRUE(toy.fill("index", {3}));
    ASSERT_TRUE(toy.runner.execute());
    EXPECT_EQ(toy.runner.counters().nodes_run, 2u);
    // Cell 3 was written, the one before it was not: fresh memory reads as NaN.
    auto keys = std::vector<float>(4 * ToyModel::kKv);
    ASSERT_TRUE(toy.gpu.read(toy.runner.kv(0)->k, std::as_writable_bytes(std::span(keys))));
    EXPECT_TRUE(std::isnan(keys[3 * ToyModel::kKv - 1]));
    for (size_t i = 0; i < ToyModel::kKv; ++i)
        EXPECT_FALSE(std::isnan(keys[3 * ToyModel::kKv + i]));
}

TEST(GraphRunner, BindNamesWhatCannotRun) {
    FakeBackend cpu{BackendId::Cpu, "cpu"}, gpu{BackendId::Metal, "metal"};
    const auto params = GraphParams{.n_tokens = 2, .n_ctx = 16};
    GraphRunner runner({&gpu, &cpu}, ToyModel::build);
    EXPECT_EQ(runner.bind(params).error().what,
              "graph node 'embd': weight 'embd' is not registered on backend cpu");
    ToyModel::register_weights(cpu);
    cpu.refused_ops = {"Rope"};
    const auto unsupported = runner.bind(params);
    EXPECT_EQ(unsupported.error().fault, Fault::Unsupported);
    EXPECT_EQ(unsupported.error().what,
              "graph node 'blk.0.q_rope': backend cpu does not run Rope with output F32 [16, 2]");
    cpu.refused_ops = {};
    cpu.weight_types = {DType::F16};
    EXPECT_THAT(runner.bind(params).error().what,
                HasSubstr("'embd': backend cpu does not run Embed"));
    cpu.weight_types = {DType::F32};
    EXPECT_TRUE(runner.bind(params));

    GraphRunner headless({&gpu}, ToyModel::build);
    EXPECT_THAT(headless.bind(params).error().what, HasSubstr("no backend with id 0 is in use"));
}

TEST(GraphRunner, AFailedBindKeepsThePreviousGraph) {
    Toy toy;
    ASSERT_TRUE(toy.step({}, {1}, 0));
    const auto uid = toy.runner.graph().uid;
    const auto changed = toy.runner.bind({.n_ctx = 32});
    ASSERT_FALSE(changed);
    EXPECT_THAT(changed.error().what, HasSubstr("kv.0: n_ctx, format or placement changed"));
    toy.cpu.allocs_left = 0;
    const auto full = toy.runner.bind({.n_tokens = 16, .n_out = 16, .n_ctx = 16});
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().fault, Fault::OutOfMemory);
    EXPECT_EQ(toy.runner.graph().uid, uid);
    auto logits = std::vector<float>(ToyModel::kVocab);
    EXPECT_TRUE(toy.runner.read_output(0, logits));
    EXPECT_TRUE(toy.step({}, {2}, 1));
}

TEST(GraphRunner, ABuildErrorPassesThrough) {
    Toy toy(
        [](const GraphParams&) -> Result<Graph> { return fail(Fault::BadInput, "no such model"); });
    EXPECT_EQ(toy.runner.bind({}).error().what, "no such model");
}

TEST(GraphRunner, AnOutputMayBeAnInput) {
    Toy toy([](const GraphParams&) -> Result<Graph> {
        GraphBuilder b;
        b.output(b.input("x", DType::F32, {2, 1, 1, 1}));
        return b.finish();
    });
    ASSERT_TRUE(toy.runner.bind({}));
    const auto x = std::vector<float>{1, 2};
    ASSERT_TRUE(toy.runner.write_input("x", std::as_bytes(std::span(x))));
    ASSERT_TRUE(toy.runner.execute());
    auto y = std::vector<float>(2);
    ASSERT_TRUE(toy.runner.read_output(0, y));
    EXPECT_EQ(x, y);
}

}  // namespace
}  // namespace minfer
