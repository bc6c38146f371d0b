#pragma once
// A two-block transformer over FakeBackend's ops, small enough to read, with every kind of node a
// real model has: for tests of placement, mapping and execution.

#include <random>

#include "graph/builder.h"
#include "graph/params.h"
#include "support/fake_backend.h"

namespace minfer {

struct ToyModel {
    static constexpr size_t kLayers = 2, kWidth = 8, kHeads = 4, kKvHeads = 2, kDim = 4, kFf = 24,
                            kVocab = 11;
    static constexpr size_t kQ = kHeads * kDim, kKv = kKvHeads * kDim;

    static void register_weights(FakeBackend& backend) {
        auto random = std::mt19937(7);
        const auto add = [&](std::string name, size_t in, size_t out) {
            auto values = std::vector<float>(in * out);
            for (auto& value : values) value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
            backend.add_weight(std::move(name), {in, out, 1, 1}, values);
            return values;
        };
        // One weight of all the rows of others.
        const auto join = [&](std::string name, const std::vector<std::vector<float>>& parts) {
            auto all = std::vector<float>();
            for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
            const size_t out = all.size() / kWidth;
            backend.add_weight(std::move(name), {kWidth, out, 1, 1}, std::move(all));
        };
        add("embd", kWidth, kVocab);
        for (size_t l = 0; l < kLayers; ++l) {
            const auto blk = fmt::format("blk.{}.", l);
            add(blk + "norm", kWidth, 1);
            const auto q = add(blk + "q", kWidth, kQ);
            add(blk + "q_bias", kQ, 1);
            const auto k = add(blk + "k", kWidth, kKv);
            add(blk + "k_bias", kKv, 1);
            const auto v = add(blk + "v", kWidth, kKv);
            add(blk + "v_bias", kKv, 1);
            join(blk + "qkv", {q, k, v});
            add(blk + "o", kQ, kWidth);
            const auto gate = add(blk + "gate", kWidth, kFf);
            const auto up = add(blk + "up", kWidth, kFf);
            join(blk + "gate_up", {gate, up});
            add(blk + "down", kFf, kWidth);
        }
        add("norm", kWidth, 1);
        add("output", kWidth, kVocab);
    }

    static Result<Graph> build(const GraphParams& p) {
        GraphBuilder b;
        const size_t nt = p.n_tokens;
        const auto ids = b.input("token_ids", DType::I32, {nt, 1, 1, 1});
        const auto positions = b.input("positions", DType::I32, {nt, 1, 1, 1});
        const auto cells = b.input("cells", DType::I32, {nt, 1, 1, 1});
        b.input("seq_ids", DType::I32, {nt, 1, 1, 1});
        const auto window =
            b.input(p.kv_map ? "kv_map" : "attn_span", DType::I32,
                    {p.kv_map ? kv_map_elements(nt) : attn_span_elements(nt), 1, 1, 1});
        const bool tail = p.n_out < nt;
        const auto tail_ids = tail ? b.input("tail_ids", DType::I32, {p.n_out, 1, 1, 1}) : 0;
        const auto layout = kv_layout(p.kv_format, kKv);

        auto h = b.embed("embd", ids, {.weight = "embd", .width = kWidth, .vocab = kVocab});
        for (uint32_t l = 0; l < kLayers; ++l) {
            b.set_layer(l);
            const auto in = [&](std::string_view part) {
                return fmt::format("blk.{}.{}", l, part);
            };
            const auto mm = [&](std::string_view part, NodeId x, size_t width, size_t out,
                                std::string bias = "") {
                return b.matmul(
                    in(part), x,
                    {.weight = in(part), .bias = bias, .in_dim = width, .out_dim = out});
            };
            const auto n = b.rms_norm(in("attn_norm"), h, {.eps = 1e-5f, .weight = in("norm")});
            NodeId q = 0, store = 0;
            if (p.fuse_qkv && nt == 1) {
                auto names = std::vector<std::string>{in("q"), in("k"), in("v")};
                if (p.concat_weights) names = {in("qkv")};
                store = b.fused_qkv(in("qkv"), n, positions, cells,
                                    {.qkv = {.layer = l,
                                             .weights = names,
                                             .in_dim = kWidth,
                                             .n_head = kHeads,
                                             .n_head_kv = kKvHeads,
                                             .head_dim = kDim,
                                             .layout = layout,
                                             .n_ctx = p.n_ctx},
                                     .biases = {in("q_bias"), in("k_bias"), in("v_bias")}});
                q = b.view(in("q_view"), store, 0, {kQ, 1, 1, 1});
            } else {
                q = b.rope(in("q_rope"), mm("q", n, kWidth, kQ, in("q_bias")), positions,
                           {.n_head = kHeads, .head_dim = kDim});
                const auto k = b.rope(in("k_rope"), mm("k", n, kWidth, kKv, in("k_bias")),
                                      positions, {.n_head = kKvHeads, .head_dim = kDim});
                const auto v = mm("v", n, kWidth, kKv, in("v_bias"));
                store = b.kv_store(in("store"), k, v, cells,
                                   {.layer = l, .layout = layout, .n_ctx = p.n_ctx});
            }
            const auto load =
                b.kv_load(in("load"), store, {.layer = l, .layout = layout, .n_ctx = p.n_ctx});
            auto a = mm("o",
                        b.attention(in("attn"), q, load, positions, window,
                                    {.layer = l,
                                     .n_head = kHeads,
                                     .n_head_kv = kKvHeads,
                                     .head_dim = kDim,
                                     .scale = 0.5f,
                                     .layout = layout,
                                     .n_ctx = p.n_ctx,
                                     .explicit_span = p.explicit_span}),
                        kQ, kWidth);
            if (tail && l + 1 == kLayers) {
                a = b.gather_rows("tail.attn", a, tail_ids);
                h = b.gather_rows("tail.residual", h, tail_ids);
            }
            h = b.add(in("attn_add"), h, a);
            const auto f = b.rms_norm(in("ffn_norm"), h, {.eps = 1e-5f, .weight = in("norm")});
            NodeId gated = 0;
            if (p.fuse_ffn && nt == 1) {
                auto names = std::vector<std::string>{in("gate"), in("up")};
                if (p.concat_weights) names = {in("gate_up")};
                const auto both =
                    b.fused_ffn(in("ffn"), f, {.weights = names, .in_dim = kWidth, .width = kFf});
                gated = b.view(in("gated"), both, 0, {kFf, 1, 1, 1});
            } else {
                gated = b.mul(in("gated"), b.silu(in("silu"), mm("gate", f, kWidth, kFf)),
                              mm("up", f, kWidth, kFf));
            }
            h = b.add(in("ffn_add"), h, mm("down", gated, kFf, kWidth));
        }
        b.set_layer(std::nullopt);
        const auto n = b.rms_norm("norm", h, {.eps = 1e-5f, .weight = "norm"});
        b.output(b.matmul("output", n, {.weight = "output", .in_dim = kWidth, .out_dim = kVocab}));
        return b.finish();
    }
};

}  // namespace minfer
