#pragma once
// The forward pass of Qwen2, Qwen2.5 and Qwen3 dense models as a graph.

#include "graph/builder.h"
#include "model/model.h"

namespace minfer {

Result<Graph> build_qwen(const Model& model, const GraphParams& params);

}  // namespace minfer
