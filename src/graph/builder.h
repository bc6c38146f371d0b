#pragma once
// Builds graphs so that a model reads like its paper. Shape rules are checked as nodes are added;
// the first violation sticks, later calls are harmless, and finish() returns it.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"
#include "graph/graph.h"

namespace minfer {

class GraphBuilder {
  public:
    // Inputs must all be declared before the first other node.
    NodeId input(std::string name, DType dtype, Shape shape);

    NodeId add(std::string name, NodeId a, NodeId b);
    NodeId mul(std::string name, NodeId a, NodeId b);
    NodeId scale(std::string name, NodeId x, float factor);
    NodeId silu(std::string name, NodeId x);
    NodeId swiglu(std::string name, NodeId gate, NodeId up);
    NodeId softmax(std::string name, NodeId x);
    NodeId rms_norm(std::string name, NodeId x, op::RmsNorm norm);
    NodeId qk_norm(std::string name, NodeId x, op::QkNorm norm);
    NodeId matmul(std::string name, NodeId x, op::MatMul matmul);
    NodeId embed(std::string name, NodeId ids, op::Embed embed);
    NodeId gather_rows(std::string name, NodeId x, NodeId ids);
    NodeId rope(std::string name, NodeId x, NodeId positions, op::Rope rope);
    NodeId kv_store(std::string name, NodeId k, NodeId v, NodeId cells, op::KvStore store);
    // `store`: a KvStore or a fused projection of the same layer, layout and n_ctx.
    NodeId kv_load(std::string name, NodeId store, op::KvLoad load);
    NodeId attention(std::string name, NodeId q, NodeId kv, NodeId positions, NodeId window,
                     op::Attention attention);
    // Decode forms: x holds one token, and the weights are one by one or one for all. The output
    // of the first two is q | k | v, for views, and a source of kv_load; that of the third has
    // silu(gate) * up in its first half.
    NodeId fused_qkv(std::string name, NodeId x, NodeId positions, NodeId cells,
                     op::FusedQkv fused);
    NodeId fused_qkv_norm(std::string name, NodeId x, NodeId positions, NodeId cells,
                          op::FusedQkvNorm fused);
    NodeId fused_ffn(std::string name, NodeId x, op::FusedFfn fused);
    // `offset` in elements; `shape` must lie inside the source.
    NodeId view(std::string name, NodeId x, size_t offset, Shape shape);

    // Nodes added from here on belong to this transformer block, or to none.
    void set_layer(std::optional<uint32_t> layer) { layer_ = layer; }

    void output(NodeId node);

    // The graph, or the first violated rule: BadInput naming node, shapes and what was allowed.
    Result<Graph> finish();

  private:
    // Keeps the first violation; `text` and what follows describe it.
    template <class... Args>
    void require(bool holds, std::string_view node, fmt::format_string<Args...> text,
                 Args&&... args) {
        if (holds || error_) return;
        error_ =
            Error{Fault::BadInput, fmt::format("graph node '{}': {}", node,
                                               fmt::format(text, std::forward<Args>(args)...))};
    }
    // The source in role `role`, checked to exist, to be no KV node and to have this dtype.
    const Node& source(std::string_view node, std::string_view role, NodeId id, DType dtype);
    // The same for a [width, tokens] activation.
    const Node& rows(std::string_view node, std::string_view role, NodeId id);
    // The same for a list of `count` integers.
    void indices(std::string_view node, std::string_view role, NodeId id, size_t count);
    void weight_matrix(std::string_view node, std::string_view weight, DType dtype, size_t in_dim,
                       size_t out_dim);
    // What both fused projections have in common; gives back the output's shape.
    Shape qkv_projection(std::string_view node, NodeId x, NodeId positions, NodeId cells,
                         const op::QkvProjection& qkv);
    const Node& one_token(std::string_view node, NodeId x, size_t in_dim);
    // One weight of all the rows, or one for each entry of `out_dims`.
    void weight_matrices(std::string_view node, const std::vector<std::string>& weights,
                         DType dtype, size_t in_dim, std::span<const size_t> out_dims);
    void rotation(std::string_view node, size_t head_dim, float freq_base, float freq_scale);
    void norm(std::string_view node, std::string_view weight, float eps);
    void heads(std::string_view node, const Node& x, size_t n_head, size_t head_dim);
    void kv_region(std::string_view node, const KvLayout& layout, size_t n_ctx);
    NodeId same_shape(std::string name, Op op, NodeId a, NodeId b);
    NodeId append(std::string name, Op op, std::initializer_list<NodeId> src, Shape shape,
                  DType dtype);

    Graph graph_;
    std::unordered_set<std::string> names_;
    std::optional<uint32_t> layer_;
    std::optional<Error> error_;
};

}  // namespace minfer
