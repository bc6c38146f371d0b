#include "graph/assign.h"

#include <algorithm>
#include <map>

#include "graph/liveness.h"

namespace minfer {
namespace {

BackendId place(std::span<const Node* const> together, std::span<Backend* const> backends,
                const LayerPlan& plan) {
    const bool device_allowed =
        std::ranges::all_of(together, [&](const Node* n) { return plan.allows(n->layer); });
    if (!device_allowed) return BackendId::Cpu;
    for (const Backend* backend : backends) {
        if (backend->id() == BackendId::Cpu) continue;
        if (std::ranges::all_of(together, [&](const Node* n) { return takes(*backend, *n); }))
            return backend->id();
    }
    return BackendId::Cpu;
}

// Inputs last, with the views of them: they follow their consumers.
void place_inputs(Graph& graph) {
    const auto roots = view_roots(graph);
    const auto is_input_or_its_view = [&](const Node& n) {
        return std::holds_alternative<op::Input>(graph.node(roots[n.id]).op);
    };
    auto wanted = std::map<NodeId, std::optional<BackendId>>();
    for (const auto& node : graph.nodes) {
        if (is_input_or_its_view(node)) continue;
        for (const NodeId src : node.src) {
            const NodeId root = roots[src];
            if (!std::holds_alternative<op::Input>(graph.node(root).op)) continue;
            const auto [entry, first] = wanted.emplace(root, node.backend);
            if (!first && entry->second != node.backend) entry->second = BackendId::Cpu;
        }
    }
    for (auto& node : graph.nodes) {
        if (node.backend || !is_input_or_its_view(node)) continue;
        const auto found = wanted.find(roots[node.id]);
        node.backend = node.id != roots[node.id] ? graph.node(roots[node.id]).backend
                       : found == wanted.end()   ? BackendId::Cpu
                                                 : found->second;
    }
}

}  // namespace

LayerPlan layer_plan(const GraphParams& params, const Graph& graph) {
    size_t n_layers = 0;
    for (const auto& node : graph.nodes)
        if (node.layer) n_layers = std::max<size_t>(n_layers, *node.layer + size_t{1});
    return {.device = params.gpu, .gpu_layers = params.gpu_layers, .n_layers = n_layers};
}

bool takes(const Backend& backend, const Node& node) {
    if (!backend.supports(node.op, node.dtype)) return false;
    const auto matrix = op_matrix_dtype(node.op);
    if (matrix && !backend.supports_weight(*matrix)) return false;
    const auto kv = op_kv_use(node.op);
    if (kv && !backend.reads_kv(kv->layout.format)) return false;
    const auto* attention = std::get_if<op::Attention>(&node.op);
    return attention == nullptr || !attention->explicit_span || backend.supports_attn_span();
}

void assign(Graph& graph, std::span<Backend* const> backends, const LayerPlan& plan) {
    const auto roots = view_roots(graph);
    auto kv_nodes = std::map<uint32_t, std::vector<const Node*>>();
    for (const auto& node : graph.nodes)
        if (const auto kv = op_kv_use(node.op)) kv_nodes[kv->layer].push_back(&node);
    auto kv_homes = std::map<uint32_t, BackendId>();
    for (const auto& [layer, nodes] : kv_nodes) kv_homes[layer] = place(nodes, backends, plan);

    for (auto& node : graph.nodes) {
        if (node.backend || std::holds_alternative<op::Input>(graph.node(roots[node.id]).op))
            continue;
        if (const auto kv = op_kv_use(node.op)) {
            node.backend = kv_homes[kv->layer];
        } else if (std::holds_alternative<op::View>(node.op)) {
            node.backend = graph.node(node.src[0]).backend;
        } else {
            const Node* alone[] = {&node};
            node.backend = place(alone, backends, plan);
        }
    }
    place_inputs(graph);
}

}  // namespace minfer
