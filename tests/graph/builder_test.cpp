#include "graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace minfer {
namespace {

using ::testing::HasSubstr;

// Two tokens through one attention block: every op but Scale, Softmax and View.
struct Block {
    GraphBuilder b;
    static constexpr size_t kTokens = 2, kWidth = 8, kHeads = 4, kKvHeads = 2, kDim = 4, kCtx = 16;
    KvLayout layout = kv_layout(KvFormat::F32, kKvHeads* kDim);
    NodeId ids = b.input("token_ids", DType::I32, {kTokens, 1, 1, 1});
    NodeId positions = b.input("positions", DType::I32, {kTokens, 1, 1, 1});
    NodeId cells = b.input("cells", DType::I32, {kTokens, 1, 1, 1});
    NodeId window = b.input("attn_span", DType::I32, {2 * kTokens, 1, 1, 1});
    NodeId tail = b.input("tail_ids", DType::I32, {1, 1, 1, 1});
    NodeId h = b.embed("h", ids, {.weight = "embd", .width = kWidth, .vocab = 10});
    NodeId n = b.rms_norm("n", h, {.eps = 1e-6f, .weight = "norm"});
    NodeId q = b.matmul("q", n, {.weight = "wq", .in_dim = kWidth, .out_dim = kHeads * kDim});
    NodeId k = b.matmul("k", n, {.weight = "wk", .in_dim = kWidth, .out_dim = kKvHeads * kDim});
    NodeId qr = b.rope("qr", q, positions, {.n_head = kHeads, .head_dim = kDim});
    NodeId store = b.kv_store("store", k, k, cells, {.layer = 3, .layout = layout, .n_ctx = kCtx});
    NodeId load = b.kv_load("load", store, {.layer = 3, .layout = layout, .n_ctx = kCtx});

    op::Attention attention() const {
        return {.layer = 3,
                .n_head = kHeads,
                .n_head_kv = kKvHeads,
                .head_dim = kDim,
                .layout = layout,
                .n_ctx = kCtx};
    }
};

TEST(GraphBuilder, DerivesShapesTypesAndSources) {
    Block s;
    s.b.set_layer(3);
    const auto a = s.b.attention("a", s.qr, s.load, s.positions, s.window, s.attention());
    s.b.set_layer(std::nullopt);
    const auto g = s.b.gather_rows("g", a, s.tail);
    const auto v = s.b.view("v", a, 4, {4, 3, 1, 1});
    s.b.output(g);
    s.b.output(v);
    const auto graph = s.b.finish();
    ASSERT_TRUE(graph) << graph.error().what;
    EXPECT_EQ(graph->node(s.h).shape, (Shape{8, 2, 1, 1}));
    EXPECT_EQ(graph->node(s.q).shape, (Shape{16, 2, 1, 1}));
    EXPECT_EQ(graph->node(s.store).shape, (Shape{8, 16, 1, 1}));
    EXPECT_EQ(graph->node(a).shape, (Shape{16, 2, 1, 1}));
    EXPECT_EQ(graph->node(g).shape, (Shape{16, 1, 1, 1}));
    EXPECT_EQ(graph->node(v).shape, (Shape{4, 3, 1, 1}));
    EXPECT_EQ(graph->node(a).src, (std::vector{s.qr, s.load, s.positions, s.window}));
    EXPECT_EQ(graph->node(s.load).src, std::vector{s.store});  // attention is ordered after it
    EXPECT_EQ(graph->node(a).layer, 3u);
    EXPECT_EQ(graph->node(g).layer, std::nullopt);
    EXPECT_EQ(graph->node(s.ids).dtype, DType::I32);
    EXPECT_EQ(graph->inputs, (std::vector{s.ids, s.positions, s.cells, s.window, s.tail}));
    EXPECT_EQ(graph->outputs, (std::vector{g, v}));
    EXPECT_EQ(graph->find("qr")->id, s.qr);
    EXPECT_EQ(graph->find("nothing"), nullptr);
}

TEST(GraphBuilder, InputsBelongToNoBlock) {
    GraphBuilder b;
    b.set_layer(0);
    const auto x = b.input("x", DType::F32, {4, 1, 1, 1});
    b.output(b.silu("s", x));
    const auto graph = b.finish();
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph->node(x).layer, std::nullopt);
}

struct Violation {
    const char* says;
    std::function<void(Block&)> commit;
};

TEST(GraphBuilder, RefusesEveryBrokenRuleByNameAndShape) {
    const auto violations = std::vector<Violation>{
        {"graph node 'late': an input after the first other node ('h')",
         [](Block& s) { s.b.input("late", DType::F32, {1, 1, 1, 1}); }},
        {"graph node 'h': another node has this name", [](Block& s) { s.b.silu("h", s.n); }},
        {"a node needs a name", [](Block& s) { s.b.silu("", s.n); }},
        {"the first source is node 99, of 12 so far", [](Block& s) { s.b.add("x", 99, s.n); }},
        {"'h' [8, 2] and 'q' [16, 2] differ in shape", [](Block& s) { s.b.add("x", s.h, s.q); }},
        {"'h' [8, 2] and 'q' [16, 2] differ in shape", [](Block& s) { s.b.swiglu("x", s.h, s.q); }},
        {"x is 'token_ids' of type I32, not F32", [](Block& s) { s.b.silu("x", s.ids); }},
        {"x is 'store', a KV region", [](Block& s) { s.b.softmax("x", s.store); }},
        {"the factor inf is not finite", [](Block& s) { s.b.scale("x", s.h, INFINITY); }},
        {"its weight has no name", [](Block& s) { s.b.rms_norm("x", s.h, {.eps = 1e-6f}); }},
        {"eps is -1", [](Block& s) { s.b.rms_norm("x", s.h, {.eps = -1, .weight = "w"}); }},
        {"'q' [16, 2] is not 3 heads of 4",
         [](Block& s) { s.b.qk_norm("x", s.q, {.weight = "w", .n_head = 3, .head_dim = 4}); }},
        {"x is 'h' [8, 2], but weight 'w' takes rows of 16",
         [](Block& s) { s.b.matmul("x", s.h, {.weight = "w", .in_dim = 16, .out_dim = 4}); }},
        {"not a multiple of the 32 in a block of Q8_0",
         [](Block& s) {
             s.b.matmul("x", s.h, {.weight = "w", .dtype = DType::Q8_0, .in_dim = 8, .out_dim = 4});
         }},
        {"weight 'w' is 8 by 0",
         [](Block& s) { s.b.matmul("x", s.h, {.weight = "w", .in_dim = 8, .out_dim = 0}); }},
        {"ids is 'h' of type F32, not I32",
         [](Block& s) { s.b.embed("x", s.h, {.weight = "w", .width = 8, .vocab = 2}); }},
        {"ids is 'n' of type F32, not I32", [](Block& s) { s.b.gather_rows("x", s.h, s.n); }},
        {"head_dim 1 is odd",
         [](Block& s) { s.b.rope("x", s.q, s.positions, {.n_head = 16, .head_dim = 1}); }},
        {"freq_base is 0",
         [](Block& s) {
             s.b.rope("x", s.q, s.positions, {.freq_base = 0, .n_head = 4, .head_dim = 4});
         }},
        {"positions is 'tail_ids' [1], not 2 integers",
         [](Block& s) { s.b.rope("x", s.q, s.tail, {.n_head = 4, .head_dim = 4}); }},
        {"positions is 'h' of type F32, not I32",
         [](Block& s) { s.b.rope("x", s.q, s.h, {.n_head = 4, .head_dim = 4}); }},
        {"k is 'q' [16, 2], but a cell has 8 elements",
         [](Block& s) { s.b.kv_store("x", s.q, s.q, s.cells, {.layout = s.layout, .n_ctx = 16}); }},
        {"2 tokens, but the cache has 1 cells",
         [](Block& s) { s.b.kv_store("x", s.k, s.k, s.cells, {.layout = s.layout, .n_ctx = 1}); }},
        {"cells is 'tail_ids' [1], not 2 integers",
         [](Block& s) { s.b.kv_store("x", s.k, s.k, s.tail, {.layout = s.layout, .n_ctx = 16}); }},
        {"q8_0 KV cells of 8 elements, not a multiple of 32",
         [](Block& s) {
             const auto layout = kv_layout(KvFormat::Q8_0, 8);
             s.b.kv_store("x", s.k, s.k, s.cells, {.layout = layout, .n_ctx = 16});
         }},
        {"KV rows of 7 bytes, not 32",
         [](Block& s) {
             auto layout = s.layout;
             layout.row_bytes = 7;
             s.b.kv_store("x", s.k, s.k, s.cells, {.layout = layout, .n_ctx = 16});
         }},
        {"its source 'k' is MatMul, not KvStore or a fused QKV",
         [](Block& s) { s.b.kv_load("x", s.k, {.layer = 3, .layout = s.layout, .n_ctx = 16}); }},
        {"its layer, layout or n_ctx differs from that of 'store'",
         [](Block& s) {
             s.b.kv_load("x", s.store, {.layer = 2, .layout = s.layout, .n_ctx = 16});
         }},
        {"n_head 4 is not a multiple of n_head_kv 3",
         [](Block& s) {
             auto a = s.attention();
             a.n_head_kv = 3;
             s.b.attention("x", s.qr, s.load, s.positions, s.window, a);
         }},
        {"cells of 8 elements, but 1 KV heads of 4",
         [](Block& s) {
             auto a = s.attention();
             a.n_head_kv = 1;
             s.b.attention("x", s.qr, s.load, s.positions, s.window, a);
         }},
        {"kv is 'store', a KvStore, not KvLoad",
         [](Block& s) { s.b.attention("x", s.qr, s.store, s.positions, s.window, s.attention()); }},
        {"window is 'cells' [2], not 4 or 16 integers",
         [](Block& s) { s.b.attention("x", s.qr, s.load, s.positions, s.cells, s.attention()); }},
        {"[8, 2] from element 1 does not lie inside 'h' [8, 2]",
         [](Block& s) { s.b.view("x", s.h, 1, {8, 2, 1, 1}); }},
        {"does not lie inside 'h' [8, 2]",
         [](Block& s) { s.b.view("x", s.h, SIZE_MAX, {2, 1, 1, 1}); }},
        {"does not lie inside 'h' [8, 2]",
         [](Block& s) { s.b.view("x", s.h, 0, {SIZE_MAX, 2, 1, 1}); }},
        {"an output is 'token_ids' of type I32, not F32", [](Block& s) { s.b.output(s.ids); }},
        {"an output is 'store', a KV region", [](Block& s) { s.b.output(s.store); }},
        {"graph node 'n': it is an output already", [](Block& s) { s.b.output(s.n); }},
    };
    for (const auto& violation : violations) {
        Block s;
        s.b.output(s.n);
        violation.commit(s);
        const auto graph = s.b.finish();
        ASSERT_FALSE(graph) << violation.says;
        EXPECT_EQ(graph.error().fault, Fault::BadInput);
        EXPECT_THAT(graph.error().what, HasSubstr(violation.says));
    }
}

// One token, and a fused projection of it that is right until a test breaks it.
struct Decode {
    GraphBuilder b;
    NodeId x = b.input("x", DType::F32, {8, 1, 1, 1});
    NodeId two = b.input("two", DType::F32, {8, 2, 1, 1});
    NodeId index = b.input("index", DType::I32, {1, 1, 1, 1});
    NodeId window = b.input("window", DType::I32, {2, 1, 1, 1});
    op::QkvProjection qkv = {.layer = 1,
                             .weights = {"q", "k", "v"},
                             .in_dim = 8,
                             .n_head = 4,
                             .n_head_kv = 2,
                             .head_dim = 4,
                             .layout = kv_layout(KvFormat::F16, 8),
                             .n_ctx = 16};
    op::FusedFfn ffn = {.weights = {"gate", "up"}, .in_dim = 8, .width = 24};

    NodeId bias(NodeId of) { return b.fused_qkv("f", of, index, index, {qkv, {"a", "b", "c"}}); }
    NodeId norm(float eps = 1e-6f, std::string k_norm = "m") {
        return b.fused_qkv_norm("f", x, index, index, {qkv, eps, "n", std::move(k_norm)});
    }
};

TEST(GraphBuilder, FusedProjectionsHoldQThenKThenVAndAreLoaded) {
    for (const bool with_norm : {false, true})
        for (const auto& weights : {std::vector<std::string>{"q", "k", "v"}, {"qkv"}}) {
            Decode s;
            s.qkv.weights = weights;
            const auto fused = with_norm ? s.norm() : s.bias(s.x);
            const auto load = s.b.kv_load(
                "load", fused, {.layer = 1, .layout = s.qkv.layout, .n_ctx = s.qkv.n_ctx});
            const auto q = s.b.view("q", fused, 0, {16, 1, 1, 1});
            s.b.output(s.b.attention("a", q, load, s.index, s.window,
                                     {.layer = 1,
                                      .n_head = 4,
                                      .n_head_kv = 2,
                                      .head_dim = 4,
                                      .layout = s.qkv.layout,
                                      .n_ctx = s.qkv.n_ctx}));
            const auto graph = s.b.finish();
            ASSERT_TRUE(graph) << graph.error().what;
            EXPECT_EQ(graph->node(fused).shape, (Shape{16 + 2 * 8, 1, 1, 1}));
            EXPECT_EQ(graph->node(fused).src, (std::vector{s.x, s.index, s.index}));
            EXPECT_EQ(graph->node(load).shape, (Shape{8, 16, 1, 1}));
        }
}

TEST(GraphBuilder, AFusedFeedForwardHoldsTwoHalves) {
    for (const auto& weights : {std::vector<std::string>{"gate", "up"}, {"gate_up"}}) {
        Decode s;
        s.ffn.weights = weights;
        const auto f = s.b.fused_ffn("f", s.x, s.ffn);
        s.b.output(f);
        const auto graph = s.b.finish();
        ASSERT_TRUE(graph) << graph.error().what;
        EXPECT_EQ(graph->node(f).shape, (Shape{48, 1, 1, 1}));
    }
}

TEST(GraphBuilder, RefusesFusedNodesThatBreakARule) {
    struct Broken {
        const char* says;
        std::function<void(Decode&)> commit;
    };
    const auto violations = std::vector<Broken>{
        {"graph node 'f': x is 'two' [8, 2], but a fused decode node takes 1 token, not 2",
         [](Decode& s) { s.bias(s.two); }},
        {"'f': x is 'two' [8, 2], but a fused decode node takes 1 token, not 2",
         [](Decode& s) { s.b.fused_ffn("f", s.two, s.ffn); }},
        {"x is 'x' [8], but its weights take rows of 9",
         [](Decode& s) { s.qkv.in_dim = 9, s.bias(s.x); }},
        {"x is 'x' [8], but its weights take rows of 9",
         [](Decode& s) { s.ffn.in_dim = 9, s.b.fused_ffn("f", s.x, s.ffn); }},
        {"2 weights, 1 or 3 are allowed",
         [](Decode& s) { s.qkv.weights = {"q", "k"}, s.bias(s.x); }},
        {"0 weights, 1 or 2 are allowed",
         [](Decode& s) { s.ffn.weights = {}, s.b.fused_ffn("f", s.x, s.ffn); }},
        {"its weight has no name", [](Decode& s) { s.qkv.weights = {"q", "", "v"}, s.bias(s.x); }},
        {"not a multiple of the 32 in a block of Q4_0",
         [](Decode& s) { s.qkv.dtype = DType::Q4_0, s.bias(s.x); }},
        {"weight 'gate' is 8 by 0",
         [](Decode& s) { s.ffn.width = 0, s.b.fused_ffn("f", s.x, s.ffn); }},
        {"a width of 9223372036854775808",
         [](Decode& s) {
             s.ffn.weights = {"gate_up"};
             s.ffn.width = size_t{1} << 63, s.b.fused_ffn("f", s.x, s.ffn);
         }},
        {"4 query and 0 KV heads of 4", [](Decode& s) { s.qkv.n_head_kv = 0, s.norm(); }},
        {"n_head 4 is not a multiple of n_head_kv 3",
         [](Decode& s) { s.qkv.n_head_kv = 3, s.norm(); }},
        {"head_dim 5 is odd", [](Decode& s) { s.qkv.head_dim = 5, s.norm(); }},
        {"freq_base is 0", [](Decode& s) { s.qkv.freq_base = 0, s.norm(); }},
        {"cells of 16 elements, but 2 KV heads of 4",
         [](Decode& s) { s.qkv.layout = kv_layout(KvFormat::F32, 16), s.norm(); }},
        {"a KV region of 0 cells", [](Decode& s) { s.qkv.n_ctx = 0, s.norm(); }},
        {"positions is 'window' [2], not 1 integers",
         [](Decode& s) { s.b.fused_qkv("f", s.x, s.window, s.index, {s.qkv, {"a", "b", "c"}}); }},
        {"cells is 'window' [2], not 1 integers",
         [](Decode& s) { s.b.fused_qkv("f", s.x, s.index, s.window, {s.qkv, {"a", "b", "c"}}); }},
        {"a bias has no name",
         [](Decode& s) { s.b.fused_qkv("f", s.x, s.index, s.index, {s.qkv, {"a", "", "c"}}); }},
        {"its weight has no name", [](Decode& s) { s.norm(1e-6f, ""); }},
        {"eps is -1", [](Decode& s) { s.norm(-1); }},
        {"its layer, layout or n_ctx differs from that of 'f'",
         [](Decode& s) {
             s.b.kv_load("l", s.bias(s.x), {.layer = 2, .layout = s.qkv.layout, .n_ctx = 16});
         }},
        {"its source 'f' is FusedFfn, not KvStore or a fused QKV",
         [](Decode& s) {
             s.b.kv_load("l", s.b.fused_ffn("f", s.x, s.ffn),
                         {.layer = 1, .layout = s.qkv.layout, .n_ctx = 16});
         }},
    };
    for (const auto& violation : violations) {
        Decode s;
        s.b.output(s.b.silu("y", s.x));
        violation.commit(s);
        const auto graph = s.b.finish();
        ASSERT_FALSE(graph) << violation.says;
        EXPECT_EQ(graph.error().fault, Fault::BadInput);
        EXPECT_THAT(graph.error().what, HasSubstr(violation.says));
    }
}

TEST(GraphBuilder, AcceptsBothWindowLayouts) {
    for (const size_t per_token : {2u, 8u}) {
        GraphBuilder b;
        const auto q = b.input("q", DType::F32, {4, 3, 1, 1});
        const auto index = b.input("index", DType::I32, {3, 1, 1, 1});
        const auto window = b.input("window", DType::I32, {3 * per_token, 1, 1, 1});
        const auto layout = kv_layout(KvFormat::F16, 4);
        const auto store = b.kv_store("s", q, q, index, {.layout = layout, .n_ctx = 8});
        const auto load = b.kv_load("l", store, {.layout = layout, .n_ctx = 8});
        b.output(b.attention(
            "a", q, load, index, window,
            {.n_head = 1, .n_head_kv = 1, .head_dim = 4, .layout = layout, .n_ctx = 8}));
        EXPECT_TRUE(b.finish());
    }
}

TEST(GraphBuilder, ReturnsTheFirstViolationWhateverFollows) {
    GraphBuilder b;
    const auto x = b.input("x", DType::F32, {4, 1, 1, 1});
    const auto bad = b.add("first", x, 7);
    b.output(b.matmul("second", bad, {.weight = "w", .in_dim = 5, .out_dim = 0}));
    b.output(99);
    const auto graph = b.finish();
    ASSERT_FALSE(graph);
    EXPECT_THAT(graph.error().what, HasSubstr("'first'"));
}

TEST(GraphBuilder, RefusesShapesWhoseSizeWraps) {
    GraphBuilder b;
    b.input("x", DType::F32, {size_t{1} << 40, size_t{1} << 40, 1, 1});
    EXPECT_THAT(b.finish().error().what, HasSubstr("'x': its shape"));
    GraphBuilder empty;
    empty.input("x", DType::F32, {0, 1, 1, 1});
    EXPECT_THAT(empty.finish().error().what, HasSubstr("is empty or too large"));
    GraphBuilder bytes;
    bytes.input("x", DType::Q8_0, {32, 1, 1, 1});
    EXPECT_THAT(bytes.finish().error().what, HasSubstr("of type Q8_0, not F32 or I32"));
}

TEST(GraphBuilder, RefusesAGraphWithoutOutputs) {
    GraphBuilder b;
    b.input("x", DType::F32, {1, 1, 1, 1});
    EXPECT_THAT(b.finish().error().what, HasSubstr("without outputs"));
}

}  // namespace
}  // namespace minfer
