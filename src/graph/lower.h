#pragma once
// What happens to a built graph before it is mapped; exports take the same path, so that node ids
// and placement equal those of a run with the same flags.

#include <span>

#include "graph/backend.h"
#include "graph/params.h"

namespace minfer {

// Assigns every node a backend, then fuses. `backends` in priority order.
void lower(Graph& graph, const GraphParams& params, std::span<Backend* const> backends);

// A graph that went through lower(), and what it was built for.
struct LoweredGraph {
    GraphParams params;
    Graph graph;
};

}  // namespace minfer
