#pragma once
// The small vocabulary every graph file shares: ids, shapes, and references into backend memory.

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace minfer {

// Fixed on every build, appended, never renumbered: they appear in session files and exports.
enum class BackendId : uint8_t { Cpu = 0, Metal = 1, Cuda = 2 };

using NodeId = uint32_t;  // index into Graph::nodes; also the execution order

// Dimension 0 is the fastest. Activations are [width, tokens, 1, 1]: element (i, t) lies at
// t * width + i.
using Shape = std::array<size_t, 4>;

inline size_t elements(const Shape& shape) { return shape[0] * shape[1] * shape[2] * shape[3]; }

enum class BufferId : uint32_t {};

// A node's memory: a window of one pool buffer. `bytes` is the node's logical length; the pool
// buffer may be longer (size class). Kernels touch only [offset, offset + bytes).
struct BufRef {
    BackendId backend = BackendId::Cpu;
    BufferId id{};
    size_t offset = 0;
    size_t bytes = 0;
    bool operator==(const BufRef&) const = default;
};

// One layer's persistent KV regions, each KvLayout::row_bytes * n_ctx bytes.
struct KvPair {
    BufRef k, v;
};

}  // namespace minfer
