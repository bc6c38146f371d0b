#pragma once
// A forward pass as pure data. Execution order is node order; sources come before their users.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace minfer {

struct Node {
    NodeId id = 0;
    std::string name;  // unique within the graph, e.g. "blk.3.attn_q"
    Op op;
    std::vector<NodeId> src;
    Shape shape{1, 1, 1, 1};
    DType dtype = DType::F32;          // F32 or I32
    std::optional<BackendId> backend;  // set by assign; a preset value is kept
    std::optional<uint32_t> layer;     // transformer block, for offload; none outside blocks
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<NodeId> inputs, outputs;
    uint64_t uid = 0;  // process-wide, from 1; set when a graph enters a cache

    const Node& node(NodeId id) const { return nodes[id]; }
    const Node* find(std::string_view name) const;
};

// "[64, 3]": without trailing ones, at least one dimension.
std::string shape_text(const Shape& shape);

inline size_t logical_bytes(const Node& node) {
    return row_bytes(node.dtype, elements(node.shape));
}

}  // namespace minfer
