#include "graph/memory_plan.h"

#include <algorithm>
#include <bit>

#include "graph/liveness.h"

namespace minfer {
namespace {

struct Reader {
    NodeId node;
    size_t operand;
};

class Planner {
  public:
    Planner(const Graph& graph, std::span<const size_t> scratch_bytes)
        : graph_(graph),
          scratch_bytes_(scratch_bytes),
          live_(live_nodes(graph)),
          roots_(view_roots(graph)),
          is_output_(graph.nodes.size(), false),
          begin_(graph.nodes.size(), 0),
          readers_(graph.nodes.size()),
          family_(graph.nodes.size()),
          life_end_(graph.nodes.size(), 0) {
        MINFER_ASSERT(scratch_bytes.empty() || scratch_bytes.size() == graph.nodes.size());
        plan_.nodes.resize(graph.nodes.size());
        plan_.scratch.resize(graph.nodes.size());
        for (const NodeId id : graph.outputs) is_output_[id] = true;
        for (const auto& node : graph.nodes) {
            if (!live_[node.id]) continue;
            family_[roots_[node.id]].push_back(node.id);
            if (const auto* view = std::get_if<op::View>(&node.op)) {
                begin_[node.id] = begin_[node.src[0]] + row_bytes(node.dtype, view->offset);
                continue;  // reads nothing: its own readers count
            }
            for (size_t i = 0; i < node.src.size(); ++i)
                readers_[node.src[i]].push_back({node.id, i});
        }
        find_life_ends();
    }

    Result<MemoryPlan> plan() {
        for (const NodeId id : graph_.inputs) {
            const auto& node = graph_.node(id);
            const auto bytes = logical_bytes(node);
            plan_.nodes[id] = take_new_slot({.backend = *node.backend, .bytes = size_class(bytes)},
                                            bytes, life_end_[id]);
        }
        for (const auto& node : graph_.nodes) {
            if (!live_[node.id] || std::holds_alternative<op::Input>(node.op)) continue;
            MINFER_TRY(place(node));
            if (scratch_bytes_.empty() || scratch_bytes_[node.id] == 0) continue;
            // After the output, whose slot it may not share; free again for the next node.
            plan_.scratch[node.id] = take_slot(node, scratch_bytes_[node.id], node.id);
        }
        return std::move(plan_);
    }

  private:
    static constexpr size_t kForever = SIZE_MAX;

    // The index of the last node that reads a value or a view of it; 0 for a value that nobody
    // reads, whose memory is free again after its own node. Only what stores cells can be that.
    void find_life_ends() {
        for (size_t i = graph_.nodes.size(); i-- > 0;) {
            const auto& node = graph_.nodes[i];
            if (!live_[i]) continue;
            const bool is_view = std::holds_alternative<op::View>(node.op);
            if (is_output_[i] || std::holds_alternative<op::Input>(node.op))
                life_end_[i] = kForever;
            for (const NodeId src : node.src)
                life_end_[src] = std::max(life_end_[src], is_view ? life_end_[i] : i);
        }
    }

    Result<> place(const Node& node) {
        auto& memory = plan_.nodes[node.id];
        if (std::holds_alternative<op::View>(node.op)) {
            const auto& source = graph_.node(node.src[0]);
            if (source.backend != node.backend)
                return fail(Fault::BadInput,
                            "graph node '{}': a view on another backend than its source '{}'",
                            node.name, source.name);
            memory = plan_.nodes[source.id];
            memory.offset += begin_[node.id] - begin_[source.id];
            memory.bytes = logical_bytes(node);
            return {};
        }
        if (std::holds_alternative<op::KvStore>(node.op) ||
            std::holds_alternative<op::KvLoad>(node.op)) {
            memory.home = Home::KvRegion;
            return {};
        }
        if (std::holds_alternative<op::Attention>(node.op) &&
            graph_.node(node.src[1]).backend != node.backend)
            return fail(Fault::BadInput,
                        "graph node '{}': attention on another backend than its KV '{}'", node.name,
                        graph_.node(node.src[1]).name);
        if (overwrites_source(node)) {
            memory = plan_.nodes[node.src[0]];
            deadlines_[memory.slot] = std::max(deadlines_[memory.slot], life_end_[node.id]);
            return {};
        }
        // What nobody reads is still written: its slot is taken while the node itself runs.
        const auto deadline = std::max<size_t>(life_end_[node.id], node.id);
        memory = take_slot(node, logical_bytes(node), deadline);
        return {};
    }

    bool works_in_place(const Node& node) const {
        if (std::holds_alternative<op::SwiGlu>(node.op))
            return std::holds_alternative<op::View>(graph_.node(node.src[0]).op);
        return std::holds_alternative<op::Silu>(node.op) ||
               std::holds_alternative<op::Rope>(node.op);
    }

    bool overwrites_source(const Node& node) const {
        if (!works_in_place(node)) return false;
        const NodeId target = node.src[0];
        if (graph_.node(target).backend != node.backend) return false;
        const auto& root = graph_.node(roots_[target]);
        if (std::holds_alternative<op::Input>(root.op)) return false;
        // Nobody may still want a byte of it: neither through the source itself nor through the
        // node it views or another view of that.
        for (const NodeId other : family_[root.id]) {
            if (!overlap(other, target)) continue;
            if (is_output_[other]) return false;
            for (const auto& reader : readers_[other]) {
                const bool is_the_write = reader.node == node.id && reader.operand == 0;
                if (reader.node >= node.id && !is_the_write) return false;
            }
        }
        return true;
    }

    bool overlap(NodeId a, NodeId b) const {
        return begin_[a] < begin_[b] + logical_bytes(graph_.node(b)) &&
               begin_[b] < begin_[a] + logical_bytes(graph_.node(a));
    }

    // An idle slot of this size, the lowest, else a new one; taken until `deadline` has run.
    NodeMemory take_slot(const Node& node, size_t bytes, size_t deadline) {
        const auto wanted = Slot{.backend = *node.backend, .bytes = size_class(bytes)};
        for (uint32_t slot = 0; slot < plan_.slots.size(); ++slot)
            if (plan_.slots[slot] == wanted && deadlines_[slot] < node.id)
                return occupy(slot, bytes, deadline);
        return take_new_slot(wanted, bytes, deadline);
    }

    NodeMemory take_new_slot(const Slot& wanted, size_t bytes, size_t deadline) {
        plan_.slots.push_back(wanted);
        deadlines_.push_back(0);
        return occupy(static_cast<uint32_t>(plan_.slots.size() - 1), bytes, deadline);
    }

    NodeMemory occupy(uint32_t slot, size_t bytes, size_t deadline) {
        deadlines_[slot] = deadline;
        return {.home = Home::Slot, .slot = slot, .bytes = bytes};
    }

    const Graph& graph_;
    std::span<const size_t> scratch_bytes_;  // by node id, or empty
    std::vector<bool> live_;
    std::vector<NodeId> roots_;
    std::vector<bool> is_output_;
    std::vector<size_t> begin_;  // bytes from the start of the root
    std::vector<std::vector<Reader>> readers_;
    std::vector<std::vector<NodeId>> family_;  // by root: itself and every live view of it
    std::vector<size_t> life_end_;
    std::vector<size_t> deadlines_;  // by slot: last node that reads what is in it
    MemoryPlan plan_;
};

}  // namespace

size_t size_class(size_t bytes) {
    constexpr size_t kSmallest = 1024, kStep = 16384;
    if (bytes <= kSmallest) return kSmallest;
    if (bytes <= kStep) return std::bit_ceil(bytes);
    return (bytes + kStep - 1) / kStep * kStep;
}

Result<MemoryPlan> plan_memory(const Graph& graph, std::span<const size_t> scratch_bytes) {
    return Planner(graph, scratch_bytes).plan();
}

}  // namespace minfer
