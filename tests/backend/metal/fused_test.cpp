#include "backend/metal/fused.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/rig.h"
#include "support/kv_cells.h"
#include "support/random_data.h"
#include "support/weight_types.h"

namespace minfer::test {
namespace {

using metal::Launch;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr int32_t kPosition = 1234, kCell = 7;
constexpr size_t kContext = 20;

struct Geometry {
    DType dtype = DType::F32;
    size_t in_dim = 256, n_head = 4, n_head_kv = 2, head_dim = 64;
    op::RopeStyle style = op::RopeStyle::NonInterleaved;
    KvFormat format = KvFormat::F32;
    size_t q() const { return n_head * head_dim; }
    size_t kv() const { return n_head_kv * head_dim; }
    op::Rope rope(size_t heads) const {
        return {.style = style, .freq_base = 1e6f, .n_head = heads, .head_dim = head_dim};
    }
    op::QkvProjection qkv(bool joined = false) const {
        auto names = std::vector<std::string>{"q", "k", "v"};
        if (joined) names = {"qkv"};
        return {.weights = names,
                .dtype = dtype,
                .in_dim = in_dim,
                .n_head = n_head,
                .n_head_kv = n_head_kv,
                .head_dim = head_dim,
                .style = style,
                .freq_base = 1e6f,
                .layout = kv_layout(format, kv()),
                .n_ctx = kContext};
    }
    op::FusedQkv fused(bool joined = false) const {
        return {.qkv = qkv(joined), .biases = {"q_bias", "k_bias", "v_bias"}};
    }
    op::FusedQkvNorm fused_norm(bool joined = false) const {
        return {.qkv = qkv(joined), .eps = 1e-6f, .q_norm = "q_norm", .k_norm = "k_norm"};
    }
    op::FusedFfn ffn(bool joined = false) const {
        auto names = std::vector<std::string>{"gate", "up"};
        if (joined) names = {"gate_up"};
        return {.weights = names, .dtype = dtype, .in_dim = in_dim, .width = kv() + 3};
    }
    Shape out(size_t n_tokens = 1) const { return {q() + 2 * kv(), n_tokens, 1, 1}; }
    Shape ffn_out(size_t n_tokens = 1) const { return {2 * ffn().width, n_tokens, 1, 1}; }
};

// A decode step's operands, with weights apart and joined.
struct Step {
    explicit Step(const Geometry& geometry, std::vector<std::string>* labels = nullptr)
        : g(geometry),
          rig(metal_rig(labels ? traced(labels) : MetalOptions())),
          x(rig.floats(random_floats(g.in_dim, 1))),
          positions(rig.ints(std::vector{kPosition})),
          cells(rig.ints(std::vector{kCell})) {}

    void add_weights() {
        matrices("qkv", {"q", "k", "v"}, {g.q(), g.kv(), g.kv()}, 10);
        matrices("gate_up", {"gate", "up"}, {g.ffn().width, g.ffn().width}, 20);
        rig.weight("q_bias", random_floats(g.q(), 30));
        rig.weight("k_bias", random_floats(g.kv(), 31));
        rig.weight("v_bias", random_floats(g.kv(), 32));
        rig.weight("q_norm", random_floats(g.head_dim, 33));
        rig.weight("k_norm", random_floats(g.head_dim, 34));
    }
    void matrices(const std::string& joined, const std::vector<std::string>& names,
                  const std::vector<size_t>& heights, uint32_t seed) {
        auto all = std::vector<std::byte>();
        for (size_t i = 0; i < names.size(); ++i) {
            const auto rows = random_rows(g.dtype, g.in_dim * heights[i], seed++);
            rig.weight(names[i], g.dtype, {g.in_dim, heights[i], 1, 1}, rows);
            all.insert(all.end(), rows.begin(), rows.end());
        }
        const auto height = all.size() / row_bytes(g.dtype, g.in_dim);
        rig.weight(joined, g.dtype, {g.in_dim, height, 1, 1}, all);
    }

    KvCells regions() { return {rig, g.qkv().layout, kContext, 40}; }
    // Output, K cells and V cells after each other.
    std::vector<float> fused(const Op& op) {
        const auto layer = regions();
        const auto got = rig.run(op, g.out(), {x, positions, cells}, layer.kv);
        EXPECT_EQ(got.error, "");
        rig.expect_guards(layer.kv.k);
        rig.expect_guards(layer.kv.v);
        return joined({got.values, values(layer, layer.kv.k), values(layer, layer.kv.v)});
    }
    // Exact, so that equal values are equal cells.
    static std::vector<float> values(const KvCells& layer, BufRef region) {
        return decoded_cells(layer.layout, layer.read(region));
    }
    std::string refusal(const Op& op, BufRef in, BufRef cell, size_t n_tokens = 1) {
        return rig.run(op, g.out(n_tokens), {in, positions, cell}, regions().kv).error;
    }

    // One operation after the other, as the plain graph has them.
    std::vector<float> chain(bool norms) {
        const auto project = [&](const std::string& name, size_t height) {
            const auto bias = norms ? "" : name + "_bias";
            return run(op::MatMul{.weight = name,
                                  .bias = bias,
                                  .dtype = g.dtype,
                                  .in_dim = g.in_dim,
                                  .out_dim = height},
                       height, {x});
        };
        auto q = project("q", g.q()), k = project("k", g.kv());
        const auto v = project("v", g.kv());
        if (norms) {
            q = run(norm("q_norm", g.n_head), g.q(), {q});
            k = run(norm("k_norm", g.n_head_kv), g.kv(), {k});
        }
        q = run(g.rope(g.n_head), g.q(), {q, positions});
        k = run(g.rope(g.n_head_kv), g.kv(), {k, positions});
        const auto layer = regions();
        const auto store = op::KvStore{.layout = layer.layout, .n_ctx = kContext};
        const auto in = std::vector{k, v, cells};
        EXPECT_EQ(rig.execute(store, {g.kv(), kContext, 1, 1}, in, layer.kv.k, layer.kv), "");
        return joined({rig.view(q), rig.view(k), rig.view(v), values(layer, layer.kv.k),
                       values(layer, layer.kv.v)});
    }
    BufRef run(const Op& op, size_t count, const std::vector<BufRef>& in) {
        const auto out = rig.buffer(count * sizeof(float));
        EXPECT_EQ(rig.execute(op, {count, 1, 1, 1}, in, out), "");
        return out;
    }
    op::QkNorm norm(std::string weight, size_t heads) const {
        return {.eps = 1e-6f, .weight = std::move(weight), .n_head = heads, .head_dim = g.head_dim};
    }
    static std::vector<float> joined(const std::vector<std::vector<float>>& parts) {
        auto all = std::vector<float>();
        for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
        return all;
    }

    Geometry g;
    OpRig rig;
    BufRef x, positions, cells;
};

// Every weight type, both styles and both formats of cells, and heads whose half ends within a
// vector.
std::vector<Geometry> geometries() {
    auto all = std::vector<Geometry>();
    const auto backend = metal_backend();
    for (const auto dtype : kWeightTypes) {
        if (!backend->supports(op::FusedFfn{.dtype = dtype}, DType::F32)) continue;
        all.push_back({.dtype = dtype, .in_dim = 512});
    }
    for (const auto style : {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved})
        for (const auto format : {KvFormat::F32, KvFormat::F16})
            for (const size_t head_dim : {2, 10, 36, 128})
                all.push_back({.in_dim = 37,
                               .n_head = 3,
                               .n_head_kv = 1,
                               .head_dim = head_dim,
                               .style = style,
                               .format = format});
    all.push_back({.in_dim = 896, .n_head = 14, .n_head_kv = 2, .head_dim = 64});
    return all;
}

std::string text(const Geometry& g) {
    return fmt::format("{} {} {} cells", name(g.dtype), g.head_dim, name(g.format));
}

TEST(MetalFused, AThreadTakesFourPairsOrFourValues) {
    EXPECT_EQ(*metal::plan_rope_store(14, 2, 64), (Launch{{1}, {256}}));   // 128 + 32
    EXPECT_EQ(*metal::plan_rope_store(16, 8, 128), (Launch{{3}, {256}}));  // 384 + 256
    EXPECT_EQ(*metal::plan_rope_store(3, 1, 10), (Launch{{1}, {256}}));    // 8 + 3
}

TEST(MetalFused, AProjectionWithBiasesHasTheBitsOfItsChainInTwoDispatches) {
    for (const auto& g : geometries()) {
        auto labels = std::vector<std::string>();
        auto step = Step(g, &labels);
        step.add_weights();
        const auto chain = step.chain(false);
        for (const bool joined : {false, true}) {
            labels.clear();
            EXPECT_EQ(step.fused(g.fused(joined)), chain) << text(g) << " joined " << joined;
            EXPECT_THAT(labels, ElementsAre(HasSubstr("mul_mv"), HasSubstr("attn_bias_rope_")));
        }
    }
}

TEST(MetalFused, AProjectionWithNormsHasTheBitsOfItsChainInFourDispatches) {
    for (const auto& g : geometries()) {
        auto labels = std::vector<std::string>();
        auto step = Step(g, &labels);
        step.add_weights();
        const auto chain = step.chain(true);
        for (const bool joined : {false, true}) {
            labels.clear();
            EXPECT_EQ(step.fused(g.fused_norm(joined)), chain) << text(g) << " joined " << joined;
            EXPECT_THAT(labels, ElementsAre(HasSubstr("mul_mv"), HasSubstr("rms_norm"),
                                            HasSubstr("rms_norm"), HasSubstr("attn_rope_store")));
        }
    }
}

TEST(MetalFused, AFeedForwardHasTheBitsOfItsChainInTwoDispatches) {
    for (const auto& g : geometries()) {
        auto labels = std::vector<std::string>();
        auto step = Step(g, &labels);
        step.add_weights();
        const auto width = g.ffn().width;
        const auto project = [&](const char* weight) {
            return step.run(
                op::MatMul{
                    .weight = weight, .dtype = g.dtype, .in_dim = g.in_dim, .out_dim = width},
                width, {step.x});
        };
        const auto gate = project("gate"), up = project("up");
        const auto gated = step.run(op::SwiGlu{}, width, {gate, up});
        const auto chain = Step::joined({step.rig.view(gated), step.rig.view(up)});
        for (const bool joined : {false, true}) {
            labels.clear();
            const auto got = step.rig.run(g.ffn(joined), g.ffn_out(), {step.x});
            EXPECT_EQ(got.error, "");
            EXPECT_EQ(got.values, chain) << text(g) << " joined " << joined;
            EXPECT_THAT(labels, ElementsAre(HasSubstr("mul_mv"), "swiglu_f32"));
        }
    }
}

// The shape is at fault first, weights or not: it is cheaper to know.
TEST(MetalFused, metal_fused_qkv_refuses_nt_other_than_one) {
    auto step = Step({});
    const auto two = step.rig.floats(random_floats(512, 2));
    const auto op = step.g.fused();
    const auto message = HasSubstr("takes 1 token, found 2 and an output of [512, 2]");
    EXPECT_THAT(step.refusal(op, two, step.cells, 2), message);
    EXPECT_THAT(step.refusal(op, step.x, step.cells), HasSubstr("weight 'q' is not on the device"));
    step.add_weights();
    EXPECT_THAT(step.refusal(op, two, step.cells, 2), message);
    EXPECT_THAT(step.refusal(op, two, step.cells), HasSubstr("takes 1 token, found 2"));
    EXPECT_EQ(step.refusal(op, step.x, step.cells), "");
}

TEST(MetalFused, metal_fused_qkv_norm_refuses_nt_other_than_one) {
    auto step = Step({});
    const auto two = step.rig.floats(random_floats(512, 3));
    const auto op = step.g.fused_norm();
    const auto message = HasSubstr("takes 1 token, found 2 and an output of [512, 2]");
    EXPECT_THAT(step.refusal(op, two, step.cells, 2), message);
    EXPECT_THAT(step.refusal(op, step.x, step.cells), HasSubstr("weight 'q' is not on the device"));
    step.add_weights();
    EXPECT_THAT(step.refusal(op, two, step.cells, 2), message);
    EXPECT_EQ(step.refusal(op, step.x, step.cells), "");
}

TEST(MetalFused, metal_fused_ffn_refuses_nt_other_than_one) {
    auto step = Step({});
    const auto two = step.rig.floats(random_floats(512, 4));
    const auto op = step.g.ffn();
    const auto refusal = [&](BufRef in, size_t n_tokens) {
        return step.rig.run(op, step.g.ffn_out(n_tokens), {in}).error;
    };
    const auto message = HasSubstr("takes 1 token, found 2 and an output of [262, 2]");
    EXPECT_THAT(refusal(two, 2), message);
    EXPECT_THAT(refusal(step.x, 1), HasSubstr("weight 'gate' is not on the device"));
    step.add_weights();
    EXPECT_THAT(refusal(two, 2), message);
    EXPECT_EQ(refusal(step.x, 1), "");
}

// Both arms of the store, before anything is encoded.
TEST(MetalFused, ACellPastTheArenaIsRefusedByBothProjections) {
    for (const auto format : {KvFormat::F32, KvFormat::F16}) {
        auto labels = std::vector<std::string>();
        auto step = Step({.format = format}, &labels);
        step.add_weights();
        for (const Op& op : {Op{step.g.fused()}, Op{step.g.fused_norm()}}) {
            EXPECT_EQ(step.refusal(op, step.x, step.rig.ints(std::vector<int32_t>{19})), "");
            EXPECT_THAT(labels.back(), EndsWith(fmt::format("rope_store_{}", name(format))));
            labels.clear();
            for (const int32_t cell : {20, 21, -1}) {
                const auto error = step.refusal(op, step.x, step.rig.ints(std::vector{cell}));
                EXPECT_THAT(error, HasSubstr(fmt::format("node 'tested' ({}", op_name(op))));
                EXPECT_THAT(error, HasSubstr(fmt::format("cell {} of token 0", cell)));
                EXPECT_THAT(error, HasSubstr("n_ctx is 20"));
            }
            EXPECT_THAT(labels, ElementsAre());
        }
    }
}

// Found when a graph is mapped; and a node that nobody prepared dispatches nothing either.
TEST(MetalFused, Q8_0CellsAreLeftToSeparateNodes) {
    auto labels = std::vector<std::string>();
    auto step = Step({.format = KvFormat::Q8_0}, &labels);
    step.add_weights();
    for (const Op& op : {Op{step.g.fused()}, Op{step.g.fused_norm()}}) {
        const auto node = Node{.name = "tested", .op = op, .shape = step.g.out()};
        const auto prepared = step.rig.backend().prepare(node);
        ASSERT_FALSE(prepared);
        EXPECT_EQ(prepared.error().fault, Fault::Unsupported);
        EXPECT_THAT(prepared.error().what,
                    HasSubstr("a fused projection stores f32 or f16 cells, not q8_0"));
        const auto in = std::vector{step.x, step.positions, step.cells};
        const auto ran = step.rig.backend().execute({.node = &node, .in = in});
        ASSERT_FALSE(ran);
        EXPECT_THAT(ran.error().what, HasSubstr("was not prepared"));
    }
    EXPECT_THAT(labels, ElementsAre());
    step.g.format = KvFormat::F16;
    EXPECT_EQ(step.refusal(step.g.fused(), step.x, step.cells), "");
}

TEST(MetalFused, AVectorThatIsMissingOrOfAnotherWidthIsRefusedByName) {
    auto step = Step({});
    step.matrices("qkv", {"q", "k", "v"}, {step.g.q(), step.g.kv(), step.g.kv()}, 10);
    EXPECT_THAT(step.refusal(step.g.fused(), step.x, step.cells),
                HasSubstr("weight 'q_bias' is not on the device"));
    EXPECT_THAT(step.refusal(step.g.fused_norm(), step.x, step.cells),
                HasSubstr("weight 'q_norm' is not on the device"));
    step.rig.weight("q_bias", random_floats(step.g.q(), 30));
    step.rig.weight("k_bias", random_floats(step.g.kv() - 1, 31));
    EXPECT_THAT(step.refusal(step.g.fused(), step.x, step.cells),
                HasSubstr("weight 'k_bias' is F32 [127, 1], not F32 [128]"));
}

TEST(MetalFused, MatricesOfAnotherShapeAreRefusedByName) {
    auto step = Step({});
    step.matrices("qkv", {"q", "k", "v"}, {step.g.q(), step.g.kv(), step.g.kv() + 1}, 10);
    EXPECT_THAT(step.refusal(step.g.fused(), step.x, step.cells),
                HasSubstr("weight 'v' is F32 [256, 129], not F32 [256, 128]"));
    EXPECT_THAT(step.refusal(step.g.fused(true), step.x, step.cells),
                HasSubstr("weight 'qkv' is F32 [256, 513], not F32 [256, 512]"));
}

}  // namespace
}  // namespace minfer::test
