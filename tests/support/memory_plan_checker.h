#pragma once
// Proves a memory plan safe by running it on paper: every word of every slot carries the name of
// the value it holds, and each read must find what it asked for. Knows the graph's meaning and the
// execution order, nothing of how plans are made.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/memory_plan.h"

namespace minfer {

class MemoryPlanChecker {
  public:
    MemoryPlanChecker(const Graph& graph, const MemoryPlan& plan) : graph_(graph), plan_(plan) {
        for (const auto& slot : plan.slots) words_.emplace_back(slot.bytes / 4);
        mark_live();
    }

    // What is wrong with the plan, or nothing.
    std::optional<std::string> violation() {
        for (const NodeId id : graph_.inputs) {
            check_window(graph_.node(id));
            if (!found_) write(id);
        }
        // Twice: a graph is executed again without filling its inputs.
        for (pass_ = 1; pass_ <= 2 && !found_; ++pass_) {
            carried_.clear();
            for (NodeId id = 0; id < graph_.nodes.size() && !found_; ++id) step(id);
            for (const NodeId id : graph_.outputs) expect(id, current(id), "as an output");
        }
        return found_;
    }

  private:
    // Node, word, execution; an input's words keep execution 0.
    using Word = std::tuple<NodeId, size_t, int>;

    void mark_live() {
        live_.insert(graph_.inputs.begin(), graph_.inputs.end());
        live_.insert(graph_.outputs.begin(), graph_.outputs.end());
        for (NodeId id = static_cast<NodeId>(graph_.nodes.size()); id-- > 0;) {
            if (is<op::KvStore>(id) || is<op::FusedQkv>(id) || is<op::FusedQkvNorm>(id))
                live_.insert(id);
            if (live_.contains(id))
                live_.insert(graph_.nodes[id].src.begin(), graph_.nodes[id].src.end());
        }
    }

    template <class T>
    bool is(NodeId id) const {
        return std::holds_alternative<T>(graph_.node(id).op);
    }
    bool is_kv(NodeId id) const { return is<op::KvStore>(id) || is<op::KvLoad>(id); }
    bool runs(NodeId id) const {
        return live_.contains(id) && !is<op::Input>(id) && !is<op::View>(id) && !is<op::KvLoad>(id);
    }

    void step(NodeId id) {
        const auto& node = graph_.node(id);
        const auto& memory = plan_.nodes[id];
        if (!live_.contains(id)) return report(memory.home == Home::None, id, "dead, has memory");
        if (is<op::Input>(id)) return;
        if (is_kv(id)) report(memory.home == Home::KvRegion, id, "not in the KV region");
        if (!is_kv(id)) check_window(node);
        if (!runs(id) || found_) return;
        if (node.backend != running_ || carried_.empty()) carry_for_run_from(id);
        for (size_t i = 0; i < node.src.size(); ++i) {
            const NodeId src = node.src[i];
            if (is_kv(src)) continue;
            if (graph_.node(src).backend != node.backend) {
                expect(src, carried_[{*node.backend, src}], "carried for " + node.name);
                continue;
            }
            expect(src, current(src), "for " + node.name);
            if (!is_kv(id)) check_overlap(node, i);
        }
        if (!is_kv(id) && !found_) write(id);
    }

    // Values of other backends are copied when a run of one backend begins.
    void carry_for_run_from(NodeId first) {
        running_ = graph_.node(first).backend;
        for (NodeId id = first; id < graph_.nodes.size(); ++id) {
            if (!runs(id)) continue;
            if (graph_.node(id).backend != running_) break;
            for (const NodeId src : graph_.node(id).src)
                if (graph_.node(src).backend != running_)
                    carried_.try_emplace({*running_, src}, current(src));
        }
        carried_.try_emplace({*running_, first});  // not empty: this run has begun
    }

    void check_window(const Node& node) {
        const auto& memory = plan_.nodes[node.id];
        report(memory.home == Home::Slot && memory.slot < plan_.slots.size(), node.id, "no slot");
        if (found_) return;
        const auto& slot = plan_.slots[memory.slot];
        report(slot.backend == node.backend, node.id, "on a slot of another backend");
        report(memory.bytes == logical_bytes(node), node.id, "of another length");
        report(memory.offset + memory.bytes <= slot.bytes, node.id, "beyond its slot");
    }

    // A kernel may write what it still reads only element by element over its first source.
    void check_overlap(const Node& node, size_t operand) {
        const auto& out = plan_.nodes[node.id];
        const auto& in = plan_.nodes[node.src[operand]];
        if (in.slot != out.slot || in.offset >= out.offset + out.bytes ||
            out.offset >= in.offset + in.bytes)
            return;
        const bool in_place =
            is<op::Silu>(node.id) || is<op::Rope>(node.id) || is<op::SwiGlu>(node.id);
        report(in_place && operand == 0 && in == out, node.id, "writes over a source");
    }

    std::vector<Word> current(NodeId id) const {
        const auto& memory = plan_.nodes[id];
        const auto& words = words_[memory.slot];
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(memory.offset / 4);
        return {first, first + static_cast<std::ptrdiff_t>(memory.bytes / 4)};
    }

    void expect(NodeId id, const std::vector<Word>& found, const std::string& why) {
        size_t word = 0;
        NodeId root = id;
        for (; is<op::View>(root); root = graph_.node(root).src[0])
            word += std::get<op::View>(graph_.node(root).op).offset;
        const int pass = is<op::Input>(root) ? 0 : pass_;
        const size_t count = elements(graph_.node(id).shape);
        report(found.size() == count, id, "not read whole " + why);
        for (size_t i = 0; i < count && !found_; ++i)
            report(found[i] == Word(root, word + i, pass), id, "overwritten, but read " + why);
    }

    void write(NodeId id) {
        const auto& memory = plan_.nodes[id];
        for (size_t i = 0; i < memory.bytes / 4; ++i)
            words_[memory.slot][memory.offset / 4 + i] = {id, i, pass_};
    }

    void report(bool holds, NodeId id, const std::string& what) {
        if (!holds && !found_) found_ = graph_.node(id).name + " is " + what;
    }

    const Graph& graph_;
    const MemoryPlan& plan_;
    std::set<NodeId> live_;
    std::vector<std::vector<Word>> words_;
    std::map<std::pair<BackendId, NodeId>, std::vector<Word>> carried_;
    std::optional<BackendId> running_;
    int pass_ = 0;
    std::optional<std::string> found_;
};

}  // namespace minfer
