#include "graph/mapped_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bytes_text.h"
#include "graph/assign.h"
#include "graph/liveness.h"

namespace minfer {
namespace {

Result<Backend*> backend_of(const Node& node, std::span<Backend* const> backends) {
    MINFER_ASSERT(node.backend.has_value());
    auto* const backend = find_backend(backends, *node.backend);
    if (backend == nullptr)
        return fail(Fault::Unsupported, "graph node '{}' ({}): no backend with id {} is in use",
                    node.name, op_name(node.op), std::to_underlying(*node.backend));
    return backend;
}

// Fills one MappedGraph; the steps run in this order.
class Mapper {
  public:
    Mapper(MappedGraph& mapped, std::span<Backend* const> backends, Reservation& reservation,
           KvRegions& kv)
        : mapped_(mapped),
          graph_(mapped.graph),
          backends_(backends),
          reservation_(reservation),
          kv_(kv) {}

    Result<> map() {
        MINFER_TRY(check_support());
        const auto splits = split_graph(graph_);
        MINFER_TRY(resolve_weights(splits));
        MINFER_TRY(take_memory());
        for (const auto& split : splits) MINFER_TRY(add_stage(split));
        point_calls(splits);
        mapped_.is_filled.resize(graph_.inputs.size(), false);
        mapped_.is_read.resize(graph_.inputs.size(), false);
        const auto roots = view_roots(graph_);
        for (const auto& split : splits)
            for (const NodeId id : split.nodes)
                for (const NodeId src : graph_.node(id).src) {
                    const auto input = std::ranges::find(graph_.inputs, roots[src]);
                    if (input != graph_.inputs.end())
                        mapped_.is_read[static_cast<size_t>(input - graph_.inputs.begin())] = true;
                }
        return {};
    }

  private:
    Result<> check_support() {
        const auto live = live_nodes(graph_);
        for (const auto& node : graph_.nodes) {
            if (!live[node.id]) continue;
            auto* const backend = MINFER_TRY(backend_of(node, backends_));
            if (has_kernel(node.op) && !takes(*backend, node))
                return fail(Fault::Unsupported,
                            "graph node '{}': backend {} does not run {} with output {} {}",
                            node.name, backend->name(), op_name(node.op), name(node.dtype),
                            shape_text(node.shape));
        }
        return {};
    }

    Result<> resolve_weights(const std::vector<Split>& splits) {
        for (const auto& split : splits)
            for (const NodeId id : split.nodes) {
                const auto& node = graph_.node(id);
                auto* const backend = MINFER_TRY(backend_of(node, backends_));
                for (const auto weight : op_weights(node.op)) {
                    const auto found = backend->find_weight(weight);
                    if (!found)
                        return fail(Fault::NotFound,
                                    "graph node '{}': weight '{}' is not registered on backend {}",
                                    node.name, weight, backend->name());
                    mapped_.weights.push_back(*found);
                }
            }
        return {};
    }

    // By node id.
    Result<std::vector<size_t>> prepare() {
        auto bytes = std::vector<size_t>(graph_.nodes.size(), 0);
        const auto live = live_nodes(graph_);
        for (const auto& node : graph_.nodes) {
            if (!live[node.id] || !has_kernel(node.op)) continue;
            auto* const backend = MINFER_TRY(backend_of(node, backends_));
            bytes[node.id] = MINFER_TRY(backend->prepare(node));
        }
        return bytes;
    }

    Result<> take_memory() {
        const auto scratch_bytes = MINFER_TRY(prepare());
        const auto plan = MINFER_TRY(plan_memory(graph_, scratch_bytes));
        for (auto* const backend : backends_) MINFER_TRY(check_fits(plan, *backend));
        const auto buffers = MINFER_TRY(reservation_.map(plan.slots, backends_));
        const auto in_slot = [&](const NodeMemory& memory) {
            return BufRef{.backend = plan.slots[memory.slot].backend,
                          .id = buffers[memory.slot],
                          .offset = memory.offset,
                          .bytes = memory.bytes};
        };
        mapped_.memory.resize(graph_.nodes.size());
        mapped_.scratch.resize(graph_.nodes.size());
        for (const auto& node : graph_.nodes) {
            const auto& memory = plan.nodes[node.id];
            if (memory.home == Home::None) continue;
            const auto regions = MINFER_TRY(ensure_kv(node));
            switch (memory.home) {
                case Home::None:
                    break;
                case Home::Slot:
                    mapped_.memory[node.id] = in_slot(memory);
                    break;
                case Home::KvRegion:
                    mapped_.memory[node.id] = regions->k;
                    break;
            }
            if (const auto& scratch = plan.scratch[node.id]; scratch.home == Home::Slot)
                mapped_.scratch[node.id] = in_slot(scratch);
        }
        return {};
    }

    // Before anything of the graph is allocated, so that a refusal has all of it in one number.
    Result<> check_fits(const MemoryPlan& plan, const Backend& backend) {
        auto cells = std::map<uint32_t, size_t>();  // bytes of the regions to be made, by layer
        for (const auto& node : graph_.nodes) {
            const auto kv = op_kv_use(node.op);
            if (!kv || node.backend != backend.id() || kv_.find(kv->layer)) continue;
            cells[kv->layer] = 2 * kv->layout.row_bytes * kv->n_ctx;
        }
        size_t cells_bytes = 0;
        for (const auto& [layer, bytes] : cells) cells_bytes += bytes;
        const auto slots_bytes = reservation_.missing_bytes(plan.slots, backend.id());
        const auto available = backend.available_bytes();
        if (cells_bytes <= available && slots_bytes <= available - cells_bytes) return {};
        return fail(Fault::OutOfMemory,
                    "{}: steps of {} tokens over a context of {} need {} for keys and values and "
                    "{} for activations, besides {} of weights; {} are there",
                    backend.name(), mapped_.params.n_tokens, mapped_.params.n_ctx,
                    bytes_text(cells_bytes), bytes_text(slots_bytes),
                    bytes_text(backend.weights_bytes()), bytes_text(available));
    }

    // The regions the node touches, made when nobody touched them before.
    Result<std::optional<KvPair>> ensure_kv(const Node& node) {
        const auto kv = op_kv_use(node.op);
        if (!kv) return std::nullopt;
        auto* const backend = MINFER_TRY(backend_of(node, backends_));
        const auto pair = MINFER_TRY(kv_.ensure(kv->layer, *backend, kv->layout, kv->n_ctx));
        return pair;
    }

    Result<> add_stage(const Split& split) {
        auto* const backend = find_backend(backends_, split.backend);
        auto stage = Stage{.backend = backend};
        for (const NodeId id : split.imports) {
            const auto& from = *mapped_.memory[id];
            auto buffer = OwnedBuffer::alloc(*backend, from.bytes);
            if (!buffer)
                return at(fmt::format("staging of '{}'", graph_.node(id).name), buffer.error());
            mapped_.staging.push_back(*std::move(buffer));
            const auto& to = mapped_.staging.back().ref();
            stage.imports.push_back(
                {.source = find_backend(backends_, from.backend), .from = from, .to = to});
            staged_[{split.backend, id}] = to;
            if (mapped_.bounce.size() < from.bytes) mapped_.bounce.resize(from.bytes);
        }
        for (const NodeId id : split.nodes)
            for (const NodeId src : graph_.node(id).src)
                mapped_.sources.push_back(graph_.node(src).backend == split.backend
                                              ? *mapped_.memory[src]
                                              : staged_.at({split.backend, src}));
        mapped_.stages.push_back(std::move(stage));
        return {};
    }

    // The lists of sources and weights are complete now, so pointers into them stay valid.
    void point_calls(const std::vector<Split>& splits) {
        auto sources = std::span<const BufRef>(mapped_.sources);
        auto weights = std::span<const WeightId>(mapped_.weights);
        for (size_t s = 0; s < splits.size(); ++s)
            for (const NodeId id : splits[s].nodes) {
                const auto& node = graph_.node(id);
                const size_t n_weights = op_weights(node.op).size();
                mapped_.stages[s].calls.push_back({.node = &node,
                                                   .in = sources.first(node.src.size()),
                                                   .out = *mapped_.memory[id],
                                                   .kv = regions_of(node),
                                                   .scratch = mapped_.scratch[id],
                                                   .weights = weights.first(n_weights)});
                sources = sources.subspan(node.src.size());
                weights = weights.subspan(n_weights);
            }
    }

    std::optional<KvPair> regions_of(const Node& node) const {
        const auto kv = op_kv_use(node.op);
        return kv ? kv_.find(kv->layer) : std::nullopt;
    }

    MappedGraph& mapped_;
    const Graph& graph_;
    std::span<Backend* const> backends_;
    Reservation& reservation_;
    KvRegions& kv_;
    std::map<std::pair<BackendId, NodeId>, BufRef> staged_;
};

}  // namespace

Result<OwnedBuffer> OwnedBuffer::alloc(Backend& backend, size_t bytes) {
    const auto id = MINFER_TRY(backend.alloc(bytes));
    return OwnedBuffer(backend, {.backend = backend.id(), .id = id, .bytes = bytes});
}

OwnedBuffer::OwnedBuffer(OwnedBuffer&& other) noexcept
    : backend_(std::exchange(other.backend_, nullptr)), ref_(other.ref_) {}

OwnedBuffer::~OwnedBuffer() {
    if (backend_ != nullptr) backend_->free(ref_.id);
}

Result<std::unique_ptr<MappedGraph>> map_graph(LoweredGraph lowered,
                                               std::span<Backend* const> backends,
                                               Reservation& reservation, KvRegions& kv) {
    auto mapped = std::make_unique<MappedGraph>();
    mapped->params = lowered.params;
    mapped->graph = std::move(lowered.graph);
    MINFER_TRY(Mapper(*mapped, backends, reservation, kv).map());
    return mapped;
}

}  // namespace minfer
