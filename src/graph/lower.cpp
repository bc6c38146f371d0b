#include "graph/lower.h"

#include "graph/assign.h"
#include "graph/fuse.h"

namespace minfer {

void lower(Graph& graph, const GraphParams& params, std::span<Backend* const> backends) {
    assign(graph, backends, layer_plan(params, graph));
    fuse(graph, backends);
}

}  // namespace minfer
