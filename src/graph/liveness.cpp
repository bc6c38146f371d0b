#include "graph/liveness.h"

namespace minfer {

std::vector<bool> live_nodes(const Graph& graph) {
    auto live = std::vector<bool>(graph.nodes.size(), false);
    for (const NodeId id : graph.inputs) live[id] = true;
    for (const NodeId id : graph.outputs) live[id] = true;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
        const auto kv = op_kv_use(graph.nodes[i].op);
        if (kv && kv->stores) live[i] = true;
        if (!live[i]) continue;
        for (const NodeId src : graph.nodes[i].src) live[src] = true;
    }
    return live;
}

std::vector<NodeId> view_roots(const Graph& graph) {
    auto roots = std::vector<NodeId>(graph.nodes.size());
    for (const auto& node : graph.nodes)
        roots[node.id] = std::holds_alternative<op::View>(node.op) ? roots[node.src[0]] : node.id;
    return roots;
}

bool has_kernel(const Op& op) {
    return !std::holds_alternative<op::Input>(op) && !std::holds_alternative<op::View>(op) &&
           !std::holds_alternative<op::KvLoad>(op);
}

}  // namespace minfer
