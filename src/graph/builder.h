#pragma once
// Builds graphs so that a model reads like its paper. Shape rules are checked as nodes are added;
// the first violation sticks, later calls are harmless, and finish() returns it.

#include <optional>
#include <string>

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
    NodeId kv_load(std::string name, NodeId store, op::KvLoad load);
    NodeId attention(std::string name, NodeId q, NodeId kv, NodeId positions, NodeId window,
                     op::Attention attention);
    // `offset` in elements; `shape` must lie inside the source.
    NodeId view(std::string name, NodeId x, size_t offset, Shape shape);

    // Nodes added from here on belong to this transformer block, or to none.
    void set_layer(std::optional<uint32_t> layer) { layer_ = layer; }

    void output(NodeId node);

    // The graph, or the first violated rule: BadInput naming node, shapes and what was allowed.
    Result<Graph> finish();

  private:
    NodeId append(std::string name, Op op, std::vector<NodeId> src, Shape shape, DType dtype);

    Graph graph_;
    std::optional<uint32_t> layer_;
    std::optional<Error> error_;
};

}  // namespace minfer
