#include "model/qwen.h"

#include <cmath>
#include <utility>

#include "model/fusion.h"

namespace minfer {
namespace {

struct Inputs {
    NodeId token_ids, positions, cells, window;
    std::optional<NodeId> tail_ids;  // rows kept from the last block on
};

class QwenGraph {
  public:
    QwenGraph(const Model& model, const GraphParams& params)
        : model_(model), hp_(model.hparams()), params_(params) {}

    Result<Graph> build() {
        in_ = declare_inputs();
        auto x = g_.embed("embed", in_.token_ids,
                          {.weight = model_.weight_name("token_embd.weight"),
                           .dtype = model_.weight_dtype("token_embd.weight"),
                           .width = hp_.n_embd,
                           .vocab = hp_.n_vocab});
        for (uint32_t il = 0; il < hp_.n_layer; ++il) {
            g_.set_layer(il);
            x = block(il, x);
        }
        g_.set_layer(std::nullopt);
        g_.output(head(x));
        return g_.finish();
    }

  private:
    Inputs declare_inputs() {
        const auto nt = params_.n_tokens;
        Inputs in{};
        in.token_ids = g_.input("token_ids", DType::I32, {nt, 1, 1, 1});
        in.positions = g_.input("positions", DType::I32, {nt, 1, 1, 1});
        in.cells = g_.input("cells", DType::I32, {nt, 1, 1, 1});
        in.window = params_.kv_map
                        ? g_.input("kv_map", DType::I32, {kv_map_elements(nt), 1, 1, 1})
                        : g_.input("attn_span", DType::I32, {attn_span_elements(nt), 1, 1, 1});
        if (params_.n_out < nt)
            in.tail_ids = g_.input("tail_ids", DType::I32, {params_.n_out, 1, 1, 1});
        return in;
    }

    NodeId block(uint32_t il, NodeId x) {
        auto residual = x;
        auto attended = attention(il, norm(block_name(il, "attn_norm"), x));
        if (il + 1 == hp_.n_layer && in_.tail_ids) {
            attended = g_.gather_rows(block_name(il, "attn_tail"), attended, *in_.tail_ids);
            residual = g_.gather_rows(block_name(il, "residual_tail"), residual, *in_.tail_ids);
        }
        x = g_.add(block_name(il, "attn_residual"), residual, attended);
        return g_.add(block_name(il, "ffn_residual"), x,
                      feed_forward(il, norm(block_name(il, "ffn_norm"), x)));
    }

    NodeId attention(uint32_t il, NodeId x) {
        const auto [q, kv] = project(il, x);
        const auto out = g_.attention(block_name(il, "attn"), q, kv, in_.positions, in_.window,
                                      {.layer = il,
                                       .n_head = hp_.n_head,
                                       .n_head_kv = hp_.n_head_kv,
                                       .head_dim = hp_.head_dim,
                                       .scale = 1.f / std::sqrt(static_cast<float>(hp_.head_dim)),
                                       .layout = layout(),
                                       .n_ctx = params_.n_ctx,
                                       .explicit_span = params_.explicit_span});
        return linear(block_name(il, "attn_output"), out, hp_.q_width(), hp_.n_embd);
    }

    // The rotated queries, and the cache with the keys and values of these tokens in it.
    struct Projected {
        NodeId q, kv;
    };

    Projected project(uint32_t il, NodeId x) {
        if (fuses(il, params_.fuse_qkv) && params_.kv_format != KvFormat::Q8_0 &&
            can_fuse_qkv(model_, il) && has_weights(qkv_weights(il)))
            return project_fused(il, x);
        auto q = linear(block_name(il, "attn_q"), x, hp_.n_embd, hp_.q_width());
        auto k = linear(block_name(il, "attn_k"), x, hp_.n_embd, hp_.kv_width());
        const auto v = linear(block_name(il, "attn_v"), x, hp_.n_embd, hp_.kv_width());
        if (hp_.architecture == Architecture::Qwen3) {
            q = head_norm(block_name(il, "attn_q_norm"), q, hp_.n_head);
            k = head_norm(block_name(il, "attn_k_norm"), k, hp_.n_head_kv);
        }
        q = rope(block_name(il, "rope_q"), q, hp_.n_head);
        k = rope(block_name(il, "rope_k"), k, hp_.n_head_kv);

        const auto store = g_.kv_store(block_name(il, "kv_store"), k, v, in_.cells,
                                       {.layer = il, .layout = layout(), .n_ctx = params_.n_ctx});
        return {q, load(il, store)};
    }

    Projected project_fused(uint32_t il, NodeId x) {
        const auto weights = qkv_weights(il);
        auto qkv = op::QkvProjection{.layer = il,
                                     .weights = names(weights),
                                     .dtype = model_.weight_dtype(weights.parts.front()),
                                     .in_dim = hp_.n_embd,
                                     .n_head = hp_.n_head,
                                     .n_head_kv = hp_.n_head_kv,
                                     .head_dim = hp_.head_dim,
                                     .style = op::RopeStyle::NonInterleaved,
                                     .freq_base = hp_.rope_freq_base,
                                     .freq_scale = hp_.rope_freq_scale,
                                     .layout = layout(),
                                     .n_ctx = params_.n_ctx};
        const auto name = block_name(il, "attn_qkv");
        const auto weight = [&](std::string_view part) {
            return model_.weight_name(block_name(il, part));
        };
        const auto stored = [&] {
            switch (hp_.architecture) {
                case Architecture::Qwen2:
                    return g_.fused_qkv(name, x, in_.positions, in_.cells,
                                        {.qkv = std::move(qkv),
                                         .biases = {weight("attn_q.bias"), weight("attn_k.bias"),
                                                    weight("attn_v.bias")}});
                case Architecture::Qwen3:
                    return g_.fused_qkv_norm(name, x, in_.positions, in_.cells,
                                             {.qkv = std::move(qkv),
                                              .eps = hp_.rms_eps,
                                              .q_norm = weight("attn_q_norm.weight"),
                                              .k_norm = weight("attn_k_norm.weight")});
            }
            std::unreachable();
        }();
        const auto q = g_.view(block_name(il, "rope_q"), stored, 0, {hp_.q_width(), 1, 1, 1});
        return {q, load(il, stored)};
    }

    NodeId load(uint32_t il, NodeId stored) {
        return g_.kv_load(block_name(il, "kv_load"), stored,
                          {.layer = il, .layout = layout(), .n_ctx = params_.n_ctx});
    }

    KvLayout layout() const { return kv_layout(params_.kv_format, hp_.kv_width()); }

    // A decode node of a block on a device; prompts run the plain chain.
    bool fuses(uint32_t il, bool wanted) const {
        return wanted && params_.decode() && params_.gpu && il < params_.gpu_layers;
    }
    bool has_weights(const FusedWeights& weights) const {
        return !params_.concat_weights || model_.has_weight(weights.joined);
    }
    std::vector<std::string> names(const FusedWeights& weights) const {
        if (params_.concat_weights) return {model_.weight_name(weights.joined)};
        std::vector<std::string> list;
        for (const auto& part : weights.parts) list.push_back(model_.weight_name(part));
        return list;
    }

    NodeId feed_forward(uint32_t il, NodeId x) {
        return linear(block_name(il, "ffn_down"), activated(il, x), hp_.n_ff, hp_.n_embd);
    }

    NodeId activated(uint32_t il, NodeId x) {
        const auto act = block_name(il, "ffn_act");
        const auto weights = ffn_weights(il);
        if (fuses(il, params_.fuse_ffn) && can_fuse_ffn(model_, il) && has_weights(weights)) {
            const auto both = g_.fused_ffn(block_name(il, "ffn_gu"), x,
                                           {.weights = names(weights),
                                            .dtype = model_.weight_dtype(weights.parts.front()),
                                            .in_dim = hp_.n_embd,
                                            .width = hp_.n_ff});
            return g_.view(act, both, 0, {hp_.n_ff, 1, 1, 1});
        }
        const auto gate = linear(block_name(il, "ffn_gate"), x, hp_.n_embd, hp_.n_ff);
        const auto up = linear(block_name(il, "ffn_up"), x, hp_.n_embd, hp_.n_ff);
        return g_.mul(act, g_.silu(block_name(il, "ffn_silu"), gate), up);
    }

    NodeId head(NodeId x) {
        x = norm("output_norm", x);
        const auto tied = !model_.has_weight("output.weight");
        return matmul("logits", tied ? "token_embd.weight" : "output.weight", "output.bias", x,
                      hp_.n_embd, hp_.n_vocab);
    }

    // Weight and bias are named after the node.
    NodeId linear(const std::string& name, NodeId x, size_t in_dim, size_t out_dim) {
        return matmul(name, name + ".weight", name + ".bias", x, in_dim, out_dim);
    }

    NodeId matmul(const std::string& name, const std::string& weight, const std::string& bias,
                  NodeId x, size_t in_dim, size_t out_dim) {
        return g_.matmul(name, x,
                         {.weight = model_.weight_name(weight),
                          .bias = model_.has_weight(bias) ? model_.weight_name(bias) : "",
                          .dtype = model_.weight_dtype(weight),
                          .in_dim = in_dim,
                          .out_dim = out_dim});
    }

    NodeId norm(const std::string& name, NodeId x) {
        return g_.rms_norm(name, x,
                           {.eps = hp_.rms_eps, .weight = model_.weight_name(name + ".weight")});
    }
    NodeId head_norm(const std::string& name, NodeId x, size_t n_head) {
        return g_.qk_norm(name, x,
                          {.eps = hp_.rms_eps,
                           .weight = model_.weight_name(name + ".weight"),
                           .n_head = n_head,
                           .head_dim = hp_.head_dim});
    }
    NodeId rope(const std::string& name, NodeId x, size_t n_head) {
        return g_.rope(name, x, in_.positions,
                       {.style = op::RopeStyle::NonInterleaved,
                        .freq_base = hp_.rope_freq_base,
                        .freq_scale = hp_.rope_freq_scale,
                        .n_head = n_head,
                        .head_dim = hp_.head_dim});
    }

    static std::string block_name(uint32_t il, std::string_view part) {
        return fmt::format("blk.{}.{}", il, part);
    }

    const Model& model_;
    const HParams& hp_;
    const GraphParams& params_;
    GraphBuilder g_;
    Inputs in_{};
};

}  // namespace

Result<Graph> build_qwen(const Model& model, const GraphParams& params) {
    return QwenGraph(model, params).build();
}

}  // namespace minfer
