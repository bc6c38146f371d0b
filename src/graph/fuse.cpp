#include "graph/fuse.h"

#include <algorithm>

namespace minfer {

size_t fuse(Graph& graph, std::span<Backend* const> backends) {
    auto readers = std::vector<size_t>(graph.nodes.size(), 0);
    for (const auto& node : graph.nodes)
        for (const NodeId src : node.src) ++readers[src];
    for (const NodeId id : graph.outputs) ++readers[id];

    const auto fuses = [&](const Node& mul) {
        return std::ranges::any_of(backends, [&](const Backend* b) {
            return b->id() == mul.backend && b->supports_swiglu_fusion();
        });
    };
    const auto private_silu = [&](NodeId id) {
        return std::holds_alternative<op::Silu>(graph.node(id).op) && readers[id] == 1;
    };

    size_t rewrites = 0;
    for (auto& node : graph.nodes) {
        if (!std::holds_alternative<op::Mul>(node.op) || !fuses(node)) continue;
        const NodeId a = node.src[0], b = node.src[1];
        if (private_silu(a)) {
            node.src = {graph.node(a).src[0], b};
        } else if (private_silu(b)) {
            node.src = {graph.node(b).src[0], a};
        } else {
            continue;
        }
        node.op = op::SwiGlu{};
        ++rewrites;
    }
    return rewrites;
}

}  // namespace minfer
