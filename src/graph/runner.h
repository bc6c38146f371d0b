#pragma once
// Owns what outlives a single graph: the cache of mapped graphs, the memory plan, the KV regions.
// A step is bind (cached: nothing is rebuilt, re-planned or allocated) -> write inputs -> execute
// -> read outputs.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/backend.h"
#include "graph/lower.h"
#include "graph/params.h"
#include "graph/watch.h"

namespace minfer {

struct RunnerCounters {
    size_t builds = 0;  // graphs built
    size_t reuses = 0;  // bind() calls served from the cache
    size_t remaps = 0;  // times a graph's buffers were assigned
    size_t nodes_run = 0;
    size_t boundary_copies = 0;  // activations carried from one backend to another
};

class GraphRunner {
  public:
    using Build = std::function<Result<Graph>(const GraphParams&)>;

    // Backends in priority order, CPU last; they outlive the runner. The params' gpu_layers decide
    // which blocks may leave the CPU.
    GraphRunner(std::vector<Backend*> backends, Build build);
    ~GraphRunner();

    // Makes the graph for `params` current; on an error the previous one stays current. Cached
    // graphs share their activation memory: when another graph becomes current, its inputs have
    // to be filled, and what the previous graph computed is gone.
    Result<> bind(const GraphParams& params);
    // The same for a graph that was built and lowered for these backends already.
    Result<> bind_lowered(LoweredGraph lowered);

    // Builds the current graph again and fails unless op, shape, type, sources and placement of
    // every node are equal: the test of the promise that equal params mean an identical graph.
    Result<> check_reuse() const;

    // The current graph, after fusion: what is executed and what exports show.
    const Graph& graph() const;

    bool has_input(std::string_view name) const;
    // Fills the current graph's input of this name; the byte count must equal the input's.
    Result<> write_input(std::string_view name, std::span<const std::byte> bytes);

    // Runs the current graph. A read input that was not filled since the graph became current is
    // BadInput; backend errors pass through, and then no output can be read and no work
    // is pending on the backend that failed.
    Result<> execute();

    // Who looks on from the next execution to the last one before another call.
    void watch(Watches watches);

    // Copies output `index` of the current graph.
    Result<> read_output(size_t index, std::span<float> to);

    // The persistent K and V regions of a layer, once a graph that stores to it was bound.
    std::optional<KvPair> kv(uint32_t layer) const;

    const RunnerCounters& counters() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace minfer
