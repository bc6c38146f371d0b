#pragma once
// Cuts an assigned graph into runs of one backend each.

#include "graph/graph.h"

namespace minfer {

// A maximal run of consecutive kernels on one backend. Inputs, views, KV loads and dead nodes run
// nothing, so they neither belong to a split nor cut one.
struct Split {
    BackendId backend = BackendId::Cpu;
    std::vector<NodeId> nodes;    // never empty, in execution order
    std::vector<NodeId> imports;  // values of other backends this backend reads here for the first
                                  // time; carried over once, before the split's first node
};

std::vector<Split> split_graph(const Graph& graph);

}  // namespace minfer
