#include "graph/runner.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "graph/lower.h"
#include "graph/mapped_graph.h"

namespace minfer {
namespace {

constexpr size_t kMaxCached = 8;

uint64_t next_uid() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

bool same_structure(const Node& a, const Node& b) {
    return a.op == b.op && a.shape == b.shape && a.src == b.src && a.dtype == b.dtype &&
           a.backend == b.backend;
}

}  // namespace

struct GraphRunner::State {
    std::vector<Backend*> backends;
    Build build;
    RunnerCounters counters;
    KvRegions kv;
    Reservation reservation;
    std::vector<std::unique_ptr<MappedGraph>> cache;  // the current one first
    bool has_results = false;                         // of the current graph

    MappedGraph& current() {
        MINFER_ASSERT(!cache.empty());
        return *cache.front();
    }

    // Another graph used the same buffers since the current one was that, if it ever was.
    void forget_contents() {
        has_results = false;
        auto& is_filled = current().is_filled;
        is_filled.assign(is_filled.size(), false);
    }

    Result<Graph> build_lowered(const GraphParams& params) const {
        auto graph = MINFER_TRY(build(params));
        lower(graph, params, backends);
        return graph;
    }

    std::optional<size_t> input_index(std::string_view name) {
        const auto& graph = current().graph;
        for (size_t i = 0; i < graph.inputs.size(); ++i)
            if (graph.node(graph.inputs[i]).name == name) return i;
        return std::nullopt;
    }

    Result<> run(Backend& backend, const Call& call) {
        auto done = backend.execute(call);
        // What was encoded before the error must not run later, on the inputs of another step.
        // That it may fail as well adds nothing: the first error is the cause.
        if (!done) (void)backend.synchronize();
        if (done) ++counters.nodes_run;
        return done;
    }

    Result<> carry(const Import& import) {
        const auto bytes = std::span(current().bounce).first(import.from.bytes);
        MINFER_TRY(import.source->read(import.from, bytes));
        ++counters.boundary_copies;
        return find_backend(backends, import.to.backend)->write(import.to, bytes);
    }
};

GraphRunner::GraphRunner(std::vector<Backend*> backends, Build build)
    : state_(std::make_unique<State>()) {
    state_->backends = std::move(backends);
    state_->build = std::move(build);
    state_->cache.reserve(kMaxCached + 1);
}

GraphRunner::~GraphRunner() = default;

Result<> GraphRunner::bind(const GraphParams& params) {
    auto& cache = state_->cache;
    const auto hit = std::ranges::find_if(cache, [&](const std::unique_ptr<MappedGraph>& mapped) {
        return mapped->params == params;
    });
    if (hit == cache.end()) {
        auto graph = MINFER_TRY(state_->build_lowered(params));
        return bind_lowered({.params = params, .graph = std::move(graph)});
    }
    ++state_->counters.reuses;
    if (hit == cache.begin()) return {};
    std::rotate(cache.begin(), hit, hit + 1);
    state_->forget_contents();
    return {};
}

Result<> GraphRunner::bind_lowered(LoweredGraph lowered) {
    ++state_->counters.builds;
    auto mapped = MINFER_TRY(
        map_graph(std::move(lowered), state_->backends, state_->reservation, state_->kv));
    ++state_->counters.remaps;
    mapped->graph.uid = next_uid();
    auto& cache = state_->cache;
    cache.insert(cache.begin(), std::move(mapped));
    if (cache.size() > kMaxCached) cache.pop_back();
    state_->forget_contents();
    return {};
}

Result<> GraphRunner::check_reuse() const {
    const auto& current = state_->current();
    const auto fresh = MINFER_TRY(state_->build_lowered(current.params));
    const auto& nodes = current.graph.nodes;
    if (fresh.nodes.size() != nodes.size())
        return fail(Fault::BadInput, "equal params built {} nodes, then {}", nodes.size(),
                    fresh.nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i)
        if (!same_structure(nodes[i], fresh.nodes[i]))
            return fail(Fault::BadInput, "equal params built node '{}' ({}), then '{}' ({})",
                        nodes[i].name, op_name(nodes[i].op), fresh.nodes[i].name,
                        op_name(fresh.nodes[i].op));
    if (fresh.outputs != current.graph.outputs)
        return fail(Fault::BadInput, "equal params built graphs with different outputs");
    return {};
}

const Graph& GraphRunner::graph() const { return state_->current().graph; }

bool GraphRunner::has_input(std::string_view name) const {
    return state_->input_index(name).has_value();
}

Result<> GraphRunner::write_input(std::string_view name, std::span<const std::byte> bytes) {
    auto& current = state_->current();
    const auto index = state_->input_index(name);
    if (!index) return fail(Fault::NotFound, "the graph has no input '{}'", name);
    const auto& to = *current.memory[current.graph.inputs[*index]];
    if (bytes.size() != to.bytes)
        return fail(Fault::BadInput, "input '{}' takes {} bytes, not {}", name, to.bytes,
                    bytes.size());
    MINFER_TRY(find_backend(state_->backends, to.backend)->write(to, bytes));
    current.is_filled[*index] = true;
    return {};
}

Result<> GraphRunner::execute() {
    auto& current = state_->current();
    state_->has_results = false;
    for (size_t i = 0; i < current.graph.inputs.size(); ++i)
        if (current.is_read[i] && !current.is_filled[i])
            return fail(Fault::BadInput,
                        "input '{}' was not filled since this graph became current",
                        current.graph.node(current.graph.inputs[i]).name);
    Backend* previous = nullptr;
    for (const auto& stage : current.stages) {
        // Nothing is read from a device that still has work of this execution to submit.
        if (previous != nullptr) MINFER_TRY(previous->synchronize());
        previous = stage.backend;
        for (const auto& import : stage.imports) MINFER_TRY(state_->carry(import));
        for (const auto& call : stage.calls) MINFER_TRY(state_->run(*stage.backend, call));
    }
    if (previous != nullptr) MINFER_TRY(previous->synchronize());
    state_->has_results = true;
    return {};
}

Result<> GraphRunner::read_output(size_t index, std::span<float> to) {
    auto& current = state_->current();
    const auto& outputs = current.graph.outputs;
    if (index >= outputs.size())
        return fail(Fault::NotFound, "output {} of a graph with {}", index, outputs.size());
    const auto& node = current.graph.node(outputs[index]);
    if (!state_->has_results)
        return fail(Fault::BadInput, "output '{}' was not computed since this graph became current",
                    node.name);
    const auto& from = *current.memory[node.id];
    if (to.size_bytes() != from.bytes)
        return fail(Fault::BadInput, "output '{}' has {} values, not {}", node.name,
                    from.bytes / sizeof(float), to.size());
    return find_backend(state_->backends, from.backend)->read(from, std::as_writable_bytes(to));
}

std::optional<KvPair> GraphRunner::kv(uint32_t layer) const { return state_->kv.find(layer); }

const RunnerCounters& GraphRunner::counters() const { return state_->counters; }

}  // namespace minfer
