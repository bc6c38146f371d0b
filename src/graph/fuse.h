#pragma once
// The peephole pass: rewrites of neighbouring nodes into one that some backend runs in one go.

#include <span>

#include "graph/backend.h"

namespace minfer {

// Mul(Silu(x), y) and Mul(y, Silu(x)) become SwiGlu(x, y) where the Mul's backend has it and
// nobody else reads the Silu, which is dead then. Runs on an assigned graph; returns the number
// of rewrites.
size_t fuse(Graph& graph, std::span<Backend* const> backends);

}  // namespace minfer
