#include "graph/split.h"

#include <set>
#include <utility>

#include "graph/liveness.h"

namespace minfer {

std::vector<Split> split_graph(const Graph& graph) {
    const auto live = live_nodes(graph);
    auto carried = std::set<std::pair<BackendId, NodeId>>();
    auto splits = std::vector<Split>();
    for (const auto& node : graph.nodes) {
        if (!live[node.id] || !has_kernel(node.op)) continue;
        if (splits.empty() || splits.back().backend != node.backend)
            splits.push_back({.backend = *node.backend});
        splits.back().nodes.push_back(node.id);
        for (const NodeId src : node.src)
            if (graph.node(src).backend != node.backend &&
                carried.emplace(*node.backend, src).second)
                splits.back().imports.push_back(src);
    }
    return splits;
}

}  // namespace minfer
