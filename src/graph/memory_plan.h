#pragma once
// Decides, without a backend, which nodes share memory: pure arithmetic over an assigned graph, so
// that equal graphs get equal plans and tests can check a plan by simulating it.

#include <span>

#include "base/result.h"
#include "graph/graph.h"

namespace minfer {

// The pool buffer that serves a request: 1 KiB at least, powers of two up to 16 KiB, then steps
// of 16 KiB.
size_t size_class(size_t bytes);

// A buffer of the plan. Nodes with disjoint lives take turns in it.
struct Slot {
    BackendId backend = BackendId::Cpu;
    size_t bytes = 0;  // a size class
    bool operator==(const Slot&) const = default;
};

enum class Home : uint8_t {
    None,      // dead: not executed, no memory
    Slot,      // a window of a slot
    KvRegion,  // the K region of the op's layer
};

struct NodeMemory {
    Home home = Home::None;
    uint32_t slot = 0;
    size_t offset = 0, bytes = 0;  // within the slot
    bool operator==(const NodeMemory&) const = default;
};

struct MemoryPlan {
    std::vector<Slot> slots;
    std::vector<NodeMemory> nodes;    // by node id
    std::vector<NodeMemory> scratch;  // by node id; Home::None for a node that wants none
};

// Rules: inputs are placed before everything else and keep their slot to the end, like outputs; a
// slot read by a node is never its output's unless the op works in place (Silu, Rope, and SwiGlu
// over a view); a view is a window of its source; among the idle slots of a size the lowest is
// taken. An in-place op overwrites its first source iff both are on one backend, that source is
// no input, and no byte of it is an output's or is read by another operand or a later node.
// A view on another backend than its source is an error, and so is attention away from its KV.
// Scratch of `scratch_bytes[id]` bytes, where given and not 0, is a slot that nothing else uses
// while the node runs.
Result<MemoryPlan> plan_memory(const Graph& graph, std::span<const size_t> scratch_bytes = {});

}  // namespace minfer
