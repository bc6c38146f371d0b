#pragma once
// A graph bound to memory and weights: everything an execution needs, resolved once.

#include <memory>

#include "graph/kv_regions.h"
#include "graph/lower.h"
#include "graph/params.h"
#include "graph/reservation.h"
#include "graph/split.h"

namespace minfer {

// A buffer that goes back to its backend's pool.
class OwnedBuffer {
  public:
    static Result<OwnedBuffer> alloc(Backend& backend, size_t bytes);
    OwnedBuffer(OwnedBuffer&& other) noexcept;
    OwnedBuffer& operator=(OwnedBuffer&&) = delete;
    ~OwnedBuffer();

    const BufRef& ref() const { return ref_; }

  private:
    OwnedBuffer(Backend& backend, BufRef ref) : backend_(&backend), ref_(ref) {}
    Backend* backend_;
    BufRef ref_;
};

// An activation carried from one backend to another.
struct Import {
    Backend* source = nullptr;
    BufRef from, to;
};

// A split, ready to run: first its imports, then its calls.
struct Stage {
    Backend* backend = nullptr;
    std::vector<Import> imports;
    std::vector<Call> calls;
};

struct MappedGraph {
    GraphParams params;
    Graph graph;
    std::vector<std::optional<BufRef>> memory;  // by node id; none: not executed
    std::vector<BufRef> scratch;                // by node id; no bytes: none
    std::vector<Stage> stages;
    std::vector<OwnedBuffer> staging;      // where imports land
    std::vector<std::byte> bounce;         // holds the largest import on its way through the host
    std::vector<bool> is_read, is_filled;  // by index into graph.inputs

    // What the calls' spans point into.
    std::vector<BufRef> sources;
    std::vector<WeightId> weights;
};

// Plans and takes memory, makes KV regions and resolves weights for a lowered graph. Errors: a
// node no backend runs (Unsupported), a weight its backend does not have (NotFound), a changed KV
// cache (BadInput); OutOfMemory, saying what the graph needs and what there is, before anything is
// allocated, where a backend knows.
Result<std::unique_ptr<MappedGraph>> map_graph(LoweredGraph lowered,
                                               std::span<Backend* const> backends,
                                               Reservation& reservation, KvRegions& kv);

}  // namespace minfer
