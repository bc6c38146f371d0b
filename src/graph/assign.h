#pragma once
// Placement: which backend runs each node, decided once, before anything executes.

#include <span>

#include "graph/backend.h"
#include "graph/params.h"

namespace minfer {

// Blocks [0, gpu_layers) run on a device; what lies outside every block (embedding, final norm,
// output head) does only when all blocks do.
struct LayerPlan {
    bool device = false;
    size_t gpu_layers = 0, n_layers = 0;

    bool allows(std::optional<uint32_t> layer) const {
        return device && (layer ? *layer < gpu_layers : gpu_layers >= n_layers);
    }
};

// n_layers is one more than the highest block of the graph.
LayerPlan layer_plan(const GraphParams& params, const Graph& graph);

// Gives every node without a backend one: the first of `backends` (in priority order) that takes
// it where the plan allows a device, else the CPU, also when the CPU does not claim the op. The
// nodes that touch one layer's KV regions stay together; a view follows its source; an input goes
// where its consumers are when they agree.
void assign(Graph& graph, std::span<Backend* const> backends, const LayerPlan& plan);

// Whether `backend` can run the node: op, weight type, KV format and window kind.
bool takes(const Backend& backend, const Node& node);

}  // namespace minfer
