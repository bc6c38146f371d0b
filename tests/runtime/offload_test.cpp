#include "runtime/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/engine.h"
#include "support/fake_backend.h"
#include "support/retyped_model.h"
#include "support/temp_dir.h"
#include "support/tiny_model.h"

namespace minfer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<TokenId> some_tokens(size_t count) {
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((i * 37 + 11) % 250));
    return tokens;
}

// A device and the CPU, both in plain loops, with every type these tests use.
struct Pair {
    FakeBackend device{BackendId::Metal, "metal"}, cpu{BackendId::Cpu, "cpu"};

    Pair() {
        device.weight_types = cpu.weight_types = {DType::F32, DType::F16, DType::Q8_0, DType::Q4_0};
    }
    std::vector<Backend*> backends() { return {&device, &cpu}; }

    std::unique_ptr<Engine> engine(const Model& model, EngineOptions options = {}) {
        options.n_ctx = 32;
        auto made = Engine::create(model, backends(), options);
        EXPECT_TRUE(made) << made.error().what;
        return made ? *std::move(made) : nullptr;
    }
};

// The logits of a prompt and of each of a few tokens after it.
std::vector<float> logits_of(Engine& engine) {
    std::vector<float> all;
    const auto tokens = some_tokens(8);
    const auto take = [&](std::span<const TokenId> some) {
        const auto logits = engine.evaluate(some);
        EXPECT_TRUE(logits) << logits.error().what;
        if (logits) all.insert(all.end(), logits->begin(), logits->end());
    };
    take(std::span(tokens).first(5));
    for (size_t i = 5; i < tokens.size(); ++i) take(std::span(tokens).subspan(i, 1));
    return all;
}

// How many nodes of the graph last run each backend has.
std::map<BackendId, size_t> homes(const Engine& engine) {
    std::map<BackendId, size_t> count;
    for (const auto& node : engine.graph().nodes) ++count[*node.backend];
    return count;
}

TEST(Offload, AWholeModelRunsEveryNodeOnTheDevice) {
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"}) {
        const TinyModel tiny(shape, DType::Q8_0);
        Pair pair, alone;
        const auto engine = pair.engine(tiny.model);
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(engine->offload().gpu_layers, tiny.model.hparams().n_layer);
        EXPECT_THAT(engine->offload().refusals, IsEmpty());
        EXPECT_EQ(pair.device.weights_bytes(), pair.cpu.weights_bytes());
        EXPECT_EQ(pair.device.weights_finished, 1u);
        const auto on_cpu = Engine::create(tiny.model, {&alone.cpu}, {.n_ctx = 32});
        ASSERT_TRUE(on_cpu);
        EXPECT_FALSE((*on_cpu)->offload().on_device());
        EXPECT_EQ(logits_of(*engine), logits_of(**on_cpu)) << shape;
        EXPECT_EQ(pair.cpu.executed, 0u);
        EXPECT_EQ(homes(*engine)[BackendId::Cpu], 0u);
        EXPECT_EQ(homes(**on_cpu)[BackendId::Metal], 0u);
        EXPECT_EQ(engine->counters().boundary_copies, 0u);
    }
}

TEST(Offload, APartRegistersItsBlocksOnlyAndTheCpuEverything) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    Pair pair;
    const auto engine = pair.engine(tiny.model, {.gpu_layers = 1});
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->offload().gpu_layers, 1u);
    std::set<std::string> expected;
    for (const auto& weight : tiny.model.weights())
        if (weight.name.starts_with("blk.0.")) expected.insert(weight.name);
    const auto names = pair.device.weight_names();
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), expected);
    EXPECT_EQ(pair.cpu.weight_names().size(), tiny.model.weights().size());
    logits_of(*engine);
    for (const auto& node : engine->graph().nodes)
        if (node.layer) {
            EXPECT_EQ(*node.backend, *node.layer == 0 ? BackendId::Metal : BackendId::Cpu)
                << node.name;
        }
}

TEST(Offload, NoBlocksLeaveTheDeviceAlone) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    Pair pair;
    const auto engine = pair.engine(tiny.model, {.gpu_layers = 0});
    ASSERT_NE(engine, nullptr);
    EXPECT_FALSE(engine->offload().on_device());
    EXPECT_THAT(engine->offload().refusals, IsEmpty());
    logits_of(*engine);
    EXPECT_EQ(pair.device.weights_bytes() + pair.device.executed + pair.device.pool_count(), 0u);
}

TEST(Offload, OneTypeWithoutAKernelPutsTheWholeModelOnTheCpuAndSaysWhich) {
    const TinyModel tiny(retyped_model(tiny_model_bytes("tiny-qwen3", DType::Q8_0),
                                       {{"blk.1.ffn_up.weight", DType::Q4_0}}));
    for (const bool has_kernel : {false, true}) {
        Pair pair;
        if (!has_kernel) pair.device.weight_types.erase(DType::Q4_0);
        const auto engine = pair.engine(tiny.model);
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(engine->offload().on_device(), has_kernel);
        logits_of(*engine);
        EXPECT_EQ(homes(*engine)[has_kernel ? BackendId::Cpu : BackendId::Metal], 0u);
        if (has_kernel) continue;
        EXPECT_THAT(engine->offload().refusals,
                    ElementsAre("metal: weight 'blk.1.ffn_up.weight' is Q4_0, which no kernel runs "
                                "there"));
        EXPECT_EQ(pair.device.weights_bytes(), 0u);  // nothing was left behind
        EXPECT_THAT(pair.device.mappings, IsEmpty());
    }
}

TEST(Offload, AWeightOutsideThePlanRefusesNothing) {
    const TinyModel tiny(retyped_model(tiny_model_bytes("tiny-qwen3", DType::Q8_0),
                                       {{"blk.1.ffn_up.weight", DType::Q4_0}}));
    Pair pair;
    pair.device.weight_types.erase(DType::Q4_0);
    const auto engine = pair.engine(tiny.model, {.gpu_layers = 1});
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->offload().gpu_layers, 1u);
}

TEST(Offload, AShapeThatTheDeviceRefusesIsAReasonAndAFailureIsAnError) {
    const TinyModel tiny("tiny-qwen2", DType::Q8_0);
    for (const auto fault : {Fault::Unsupported, Fault::OutOfMemory, Fault::Device}) {
        Pair pair;
        pair.device.fail_weight = "blk.0.attn_norm.weight";
        pair.device.weight_fault = fault;
        const auto engine = Engine::create(tiny.model, pair.backends(), {.n_ctx = 32});
        if (fault == Fault::Unsupported) {
            ASSERT_TRUE(engine) << engine.error().what;
            EXPECT_THAT((*engine)->offload().refusals,
                        ElementsAre("metal: weight 'blk.0.attn_norm.weight': failed on request"));
            EXPECT_EQ(pair.device.weights_finished, 0u);
            continue;
        }
        ASSERT_FALSE(engine);
        EXPECT_EQ(engine.error().fault, fault);
        EXPECT_EQ(engine.error().what, "metal: weight 'blk.0.attn_norm.weight': failed on request");
    }
}

TEST(Offload, TellsTheDeviceEveryPartOfTheFileBeforeItsWeights) {
    const TempDir dir;
    gguf::Writer writer;
    ASSERT_TRUE(add_random_model(writer, random_model_shapes()[0], DType::Q8_0));
    ASSERT_TRUE(writer.write(dir.path() / "m.gguf"));
    const auto model = Model::load(dir.path() / "m.gguf");
    ASSERT_TRUE(model);
    Pair pair;
    ASSERT_NE(pair.engine(*model), nullptr);
    ASSERT_EQ(pair.device.mappings.size(), 1u);
    EXPECT_EQ(pair.device.mappings[0].data(), model->file().parts()[0].pages().data());
    EXPECT_EQ(pair.device.mappings[0].size(), model->file().parts()[0].pages().size());
}

TEST(Offload, TwoModelsShareTheBackendsUnderTheirPrefixes) {
    const TinyModel target("tiny-qwen3", DType::Q8_0, "target/");
    const TinyModel draft("tiny-qwen3", DType::Q4_0, "draft/");
    Pair shared, alone;
    const auto first = shared.engine(target.model), second = shared.engine(draft.model);
    ASSERT_TRUE(first && second);
    const auto by_itself = alone.engine(draft.model);
    ASSERT_NE(by_itself, nullptr);
    EXPECT_NE(logits_of(*first), logits_of(*second));
    second->truncate(0);
    EXPECT_EQ(logits_of(*second), logits_of(*by_itself));

    const TinyModel same_name("tiny-qwen3", DType::Q4_0, "target/");
    const auto refused = Engine::create(same_name.model, shared.backends(), {.n_ctx = 32});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::BadInput);
    EXPECT_THAT(refused.error().what, HasSubstr("is registered already with other data"));
}

TEST(Offload, ACacheTypeThatTheDeviceDoesNotReadIsRefused) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    Pair pair;
    pair.cpu.kv_formats.insert(KvFormat::F16);
    const auto options = EngineOptions{.n_ctx = 32, .kv_format = KvFormat::F16};
    const auto refused = Engine::create(tiny.model, pair.backends(), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "backend metal does not read a KV cache of f16 cells");
    EXPECT_TRUE(Engine::create(tiny.model, {&pair.cpu}, options));
}

TEST(Offload, AShapeThatTheDeviceHasNoKernelForKeepsTheWholeModelOnTheCpu) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    // The attention of a decode step and of a prompt are asked for, and what only one of them has:
    // a decode step's fused product, the product it stands for in a prompt.
    for (const auto* const node : {"blk.1.attn", "blk.1.ffn_gu", "blk.1.ffn_gate"}) {
        Pair pair;
        pair.device.fail_prepare = node;
        const auto engine = pair.engine(tiny.model);
        ASSERT_NE(engine, nullptr);
        EXPECT_FALSE(engine->offload().on_device());
        EXPECT_THAT(engine->offload().refusals,
                    ElementsAre(fmt::format("metal: node '{}': failed on request", node)));
        EXPECT_TRUE(pair.device.weight_names().empty());
        EXPECT_EQ(homes(*engine)[BackendId::Metal], 0u);
    }
    // Of a block that the plan leaves to the CPU nothing is asked.
    Pair part;
    part.device.fail_prepare = "blk.1.attn";
    const auto engine = part.engine(tiny.model, {.gpu_layers = 1});
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->offload().on_device());
    // Any other failure is no reason for the CPU.
    Pair broken;
    broken.device.fail_prepare = "blk.1.attn";
    broken.device.prepare_fault = Fault::Device;
    const auto failed = Engine::create(tiny.model, broken.backends(), {.n_ctx = 32});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::Device);
    EXPECT_EQ(failed.error().what, "metal: node 'blk.1.attn': failed on request");
}

// Placing a graph asks for its embedding once, mapping it once more.
TEST(Offload, ALoadBuildsEachOfItsGraphsOnce) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    for (const size_t n_ubatch : {1, 4}) {
        const size_t graphs = n_ubatch == 1 ? 1 : 2;
        Pair pair;
        const auto engine = pair.engine(tiny.model, {.n_ubatch = n_ubatch});
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(pair.device.asked["Embed"], 2 * graphs);
        EXPECT_EQ(engine->counters().builds, graphs);
        // Neither a full prompt nor a generated token builds or allocates anything after it.
        const auto buffers = pair.device.pool_count() + pair.cpu.pool_count();
        const auto tokens = some_tokens(n_ubatch + 1);
        ASSERT_TRUE(engine->evaluate(std::span(tokens).first(n_ubatch)));
        ASSERT_TRUE(engine->evaluate(std::span(tokens).last(1)));
        EXPECT_EQ(engine->counters().builds, graphs);
        EXPECT_EQ(pair.device.pool_count() + pair.cpu.pool_count(), buffers);
    }
    // Fused nodes that the device does not take: the decode graph once more, without them.
    Pair plain;
    plain.device.refused_ops = {"FusedFfn"};
    ASSERT_NE(plain.engine(tiny.model, {.n_ubatch = 1}), nullptr);
    EXPECT_EQ(plain.device.asked["Embed"], 3u);
}

TEST(FusedDecode, EqualsTheChainBitwiseWithFewerNodes) {
    for (const auto* const shape : {"tiny-qwen2", "tiny-qwen3"})
        for (const bool joined : {false, true}) {
            TinyModel tiny(shape, DType::Q8_0);
            if (joined) {
                ASSERT_TRUE(tiny.model.join_weights(true, true));
            }
            Pair fused_pair, chain_pair;
            const auto fused = fused_pair.engine(tiny.model, {.concat_weights = joined});
            const auto chain =
                chain_pair.engine(tiny.model, {.fuse_qkv = false, .fuse_ffn = false});
            ASSERT_TRUE(fused && chain);
            EXPECT_EQ(logits_of(*fused), logits_of(*chain)) << shape;
            EXPECT_LT(fused->counters().nodes_run, chain->counters().nodes_run);
            const auto* const node = fused->graph().find("blk.0.attn_qkv");
            ASSERT_NE(node, nullptr) << shape;
            EXPECT_EQ(op_name(node->op),
                      std::string_view(shape) == "tiny-qwen2" ? "FusedQkv" : "FusedQkvNorm");
            EXPECT_EQ(op_weights(fused->graph().find("blk.0.ffn_gu")->op).size(), joined ? 1u : 2u);
            EXPECT_EQ(chain->graph().find("blk.0.attn_qkv"), nullptr);
            // A prompt takes the chain.
            ASSERT_TRUE(fused->prepare(4, 1));
            EXPECT_EQ(fused->graph().find("blk.0.attn_qkv"), nullptr);
        }
}

TEST(FusedDecode, TheSwitchesAreIndependent) {
    const TinyModel tiny("tiny-qwen2", DType::Q8_0);
    for (const bool qkv : {false, true})
        for (const bool ffn : {false, true}) {
            Pair pair;
            const auto engine = pair.engine(tiny.model, {.fuse_qkv = qkv, .fuse_ffn = ffn});
            ASSERT_NE(engine, nullptr);
            EXPECT_EQ(engine->graph().find("blk.0.attn_qkv") != nullptr, qkv);
            EXPECT_EQ(engine->graph().find("blk.0.ffn_gu") != nullptr, ffn);
        }
}

TEST(FusedDecode, ADeviceWithoutTheFusedOpRunsItsChain) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    for (const char* const op : {"FusedQkvNorm", "FusedFfn"}) {
        Pair pair;
        pair.device.refused_ops = {op};
        const auto engine = pair.engine(tiny.model);
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(homes(*engine)[BackendId::Cpu], 0u) << op;
        const bool qkv = std::string_view(op) == "FusedQkvNorm";
        EXPECT_EQ(engine->graph().find("blk.0.attn_qkv") == nullptr, qkv);
        EXPECT_EQ(engine->graph().find("blk.0.ffn_gu") == nullptr, !qkv);
        logits_of(*engine);
        EXPECT_EQ(pair.cpu.executed, 0u);
    }
}

TEST(FusedDecode, IsForDevicesOnly) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    Pair pair;
    const auto engine = pair.engine(tiny.model, {.gpu_layers = 1});
    ASSERT_NE(engine, nullptr);
    EXPECT_NE(engine->graph().find("blk.0.attn_qkv"), nullptr);
    EXPECT_EQ(engine->graph().find("blk.1.attn_qkv"), nullptr);
}

TEST(Engine, AFailedStepChangesNothingAndTheNextOneWorks) {
    const TinyModel tiny("tiny-qwen3", DType::Q8_0);
    Pair failing, whole;
    const auto engine = failing.engine(tiny.model, {.n_ubatch = 4});
    const auto control = whole.engine(tiny.model, {.n_ubatch = 4});
    ASSERT_TRUE(engine && control);
    const auto tokens = some_tokens(11);
    const auto all = std::span(tokens);
    const auto expect_same = [&](std::span<const TokenId> some) {
        const auto got = engine->evaluate(some), want = control->evaluate(some);
        ASSERT_TRUE(got && want) << got.error().what;
        EXPECT_TRUE(std::ranges::equal(*got, *want));
    };
    expect_same(all.first(3));
    // A decode step fails in the second block: no token counts as evaluated.
    failing.device.fail_node = "blk.1.attn_output";
    const auto decode = engine->evaluate(all.subspan(3, 1));
    ASSERT_FALSE(decode);
    EXPECT_EQ(decode.error().fault, Fault::Device);
    EXPECT_EQ(engine->n_past(), 3u);
    failing.device.fail_node.clear();
    expect_same(all.subspan(3, 1));
    // A prompt fails in its second graph: the first stays.
    ASSERT_FALSE(engine->evaluate(all.subspan(4, 7), 1, [&](size_t) {
        failing.device.fail_node = "blk.0.attn_q";
        return true;
    }));
    EXPECT_EQ(engine->n_past(), 8u);
    failing.device.fail_node.clear();
    ASSERT_TRUE(control->evaluate(all.subspan(4, 4)));
    expect_same(all.subspan(8, 3));
}

}  // namespace
}  // namespace minfer
