#pragma once
// What a run computed, node by node: statistics and a sample of every value, recorded while a graph
// runs and written as JSON (trace_file.h).

#include <string>
#include <vector>

#include "graph/watch.h"

namespace minfer {

// Of all elements that are finite; zeros when none is.
struct TraceStats {
    double min = 0, max = 0, mean = 0, mean_abs = 0;
    size_t non_finite = 0;  // NaN and infinities
    bool operator==(const TraceStats&) const = default;
};

// One node in one step.
struct TraceValue {
    NodeId id = 0;
    DType dtype = DType::F32;
    TraceStats stats;
    // Every `stride`-th of the `n` elements from the first on, rounded to 1e-6; 64 at most.
    std::vector<double> values;
    size_t stride = 1, n = 0;
};

// `bytes` holds whole elements of `dtype`, F32 or I32.
TraceValue trace_value(NodeId id, DType dtype, std::span<const std::byte> bytes);

struct TraceCandidate {
    int32_t token = 0;
    double logit = 0, probability = 0;
};

struct TraceStep {
    size_t n_tokens = 0;              // that this execution evaluated
    int32_t token = 0;                // the last of them
    std::vector<TraceCandidate> top;  // the five likeliest next tokens, the likeliest first
    std::vector<TraceValue> values;   // in the order of execution
};

// A node as the graph has it, for who matches nodes of two traces.
struct TraceNode {
    NodeId id = 0;
    std::string name, op, backend;
};

// Steps in a row that ran one graph.
struct TracePhase {
    std::string kind;   // "prefill", or "decode" for steps of one token
    std::string graph;  // as to_json() in export.h writes it
    std::vector<TraceNode> nodes;
    std::vector<TraceStep> steps;
};

struct Trace {
    std::string model, prompt;
    std::vector<TracePhase> phases;
};

// Records every execution that it looks on at, of graphs with an input `token_ids` whose first
// output has a row of logits for each token that is wanted. An execution that failed is left out.
class TraceRecorder final : public ValueWatch {
  public:
    // `model` and `prompt` are what the file says of them.
    TraceRecorder(std::string model, std::string prompt)
        : trace_{std::move(model), std::move(prompt), {}} {}

    void begin(const Graph& graph) override;
    void value(const Node& node, std::span<const std::byte> value) override;
    void end() override;

    const Trace& trace() const { return trace_; }

  private:
    Trace trace_;
    const Graph* graph_ = nullptr;  // of the execution going on
    uint64_t uid_ = 0;              // of the last phase's graph
    TraceStep step_;
};

}  // namespace minfer
