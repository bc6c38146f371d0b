#include "graph/runner.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "graph/liveness.h"
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
    Watches watches;

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

    Result<> run_stage(const Stage& stage) {
        for (const auto& import : stage.imports) MINFER_TRY(carry(import));
        for (const auto& call : stage.calls) MINFER_TRY(run(*stage.backend, call));
        // Nothing is read from a device that still has work of this execution to submit.
        return stage.backend->synchronize();
    }

    // The same under the eyes of somebody. Views are seen with the node whose memory they show.
    Result<> run_watched(const Stage& stage, const std::vector<std::vector<NodeId>>& shown) {
        for (const auto& import : stage.imports) MINFER_TRY(carry(import));
        auto* const times = watches.times;
        for (const auto& call : stage.calls) {
            const auto begin = TimeWatch::Clock::now();
            MINFER_TRY(run(*stage.backend, call));
            if (times) times->node(*call.node, {begin, TimeWatch::Clock::now()});
            if (watches.values) MINFER_TRY(show(*stage.backend, shown[call.node->id]));
        }
        const auto begin = TimeWatch::Clock::now();
        MINFER_TRY(stage.backend->synchronize());
        if (times && stage.backend->id() != BackendId::Cpu)
            times->wait(stage.backend->id(), stage.calls.size(), {begin, TimeWatch::Clock::now()});
        return {};
    }

    Result<> show(Backend& backend, const std::vector<NodeId>& nodes) {
        for (const NodeId id : nodes) {
            const auto& node = current().graph.node(id);
            auto done =
                backend.capture(*current().memory[id],
                                [&node, to = watches.values](std::span<const std::byte> bytes) {
                                    to->value(node, bytes);
                                });
            if (done) continue;
            (void)backend.synchronize();  // as after an error of a node
            return at(fmt::format("trace of node '{}'", node.name), std::move(done).error());
        }
        return {};
    }

    Result<> execute_watched() {
        const auto& graph = current().graph;
        const auto begin = TimeWatch::Clock::now();
        if (watches.times) watches.times->begin(graph);
        std::vector<std::vector<NodeId>> shown;
        if (watches.values) {
            watches.values->begin(graph);
            shown = nodes_to_show();
            for (const NodeId id : graph.inputs)
                MINFER_TRY(show(*find_backend(backends, current().memory[id]->backend), shown[id]));
        }
        for (const auto& stage : current().stages) MINFER_TRY(run_watched(stage, shown));
        if (watches.values) watches.values->end();
        if (watches.times) watches.times->end({begin, TimeWatch::Clock::now()});
        return {};
    }

    // By id of the node that is filled or run: itself and its views, without what lies in a KV
    // region, and without inputs that nobody filled.
    std::vector<std::vector<NodeId>> nodes_to_show() {
        const auto& graph = current().graph;
        const auto roots = view_roots(graph);
        auto shown = std::vector<std::vector<NodeId>>(graph.nodes.size());
        for (const auto& node : graph.nodes) {
            const auto is_cells = std::holds_alternative<op::KvStore>(node.op) ||
                                  std::holds_alternative<op::KvLoad>(node.op);
            if (!is_cells && current().memory[node.id]) shown[roots[node.id]].push_back(node.id);
        }
        for (size_t i = 0; i < graph.inputs.size(); ++i)
            if (!current().is_filled[i]) shown[graph.inputs[i]].clear();
        return shown;
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
    if (state_->watches.values || state_->watches.times) {
        MINFER_TRY(state_->execute_watched());
    } else {
        for (const auto& stage : current.stages) MINFER_TRY(state_->run_stage(stage));
    }
    state_->has_results = true;
    return {};
}

void GraphRunner::watch(Watches watches) { state_->watches = watches; }

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
