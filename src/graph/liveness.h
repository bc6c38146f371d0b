#pragma once
// Facts about who reads what, shared by placement, splits, the memory plan and exports.

#include "graph/graph.h"

namespace minfer {

// For every node whether its result matters: it is an output, stores to the KV cache, or is read
// by a node that matters. Inputs always count, since the host fills them.
std::vector<bool> live_nodes(const Graph& graph);

// For every node the one whose memory it shows: itself, or for a view the end of its chain.
std::vector<NodeId> view_roots(const Graph& graph);

// Whether a backend executes something for the op (inputs are filled, views and loads only name
// memory).
bool has_kernel(const Op& op);

}  // namespace minfer
