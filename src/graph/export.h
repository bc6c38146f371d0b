#pragma once
// A graph as text for people and tools. Give it a lowered graph (graph/lower.h), so that it shows
// what runs: ids, fused ops and placement equal those of a run with the same flags. Nodes whose
// result nobody wants are left out; the ids keep their gaps.

#include <string>

#include "graph/graph.h"

namespace minfer {

struct ExportInfo {
    std::string model;  // what the model calls itself
    std::string kind;   // "prefill" or "decode"
};

// Graphviz: filled by backend, a double border on inputs and outputs.
std::string to_dot(const Graph& graph, const ExportInfo& info);

// {format: "minfer-graph", version: 1, model, kind, inputs, outputs, nodes: [{id, name, op, detail,
// shape, dtype, backend, layer?, src, weights: [{name, role, dtype}]}]}; detail holds the op's
// parameters by name.
std::string to_json(const Graph& graph, const ExportInfo& info);

}  // namespace minfer
