#pragma once
// Where two runs begin to differ: the first node, in the order of execution, whose value is not the
// same within a bound.

#include <optional>
#include <string>

#include "base/result.h"
#include "graph/trace.h"

namespace minfer {

// What a trace says of the node that differs.
struct TraceSide {
    std::string op, backend;
    TraceStats stats;
    double value = 0;  // of `what`
};

struct TraceDifference {
    size_t step = 0;  // counted over all phases
    std::string kind;
    int32_t token = 0;  // the last that step evaluates, in the first trace
    std::string node;
    std::string what;     // "value[12]", "mean"
    double relative = 0;  // infinite when one of the values is not finite
    TraceSide a, b;
};

struct TraceComparison {
    std::optional<TraceDifference> first;
    size_t n_equal = 0;  // values compared before it
    // Of everything that was executed up to there: what the other trace has no node for.
    size_t only_a = 0, only_b = 0;
    size_t steps_a = 0, steps_b = 0;
    bool equal() const { return !first && steps_a == steps_b; }
};

// Nodes are matched by name, so that the two may differ in placement and fusion. Integers are to be
// equal. Of floats the difference is taken relative to the larger of both values and of the mean
// magnitude of the node, and may be up to `bound`.
// BadInput where the two cannot be compared, by name: of different models or prompts, steps of
// different numbers of tokens, a node of different type or length, no node in common.
Result<TraceComparison> compare_traces(const Trace& a, const Trace& b, double bound);

}  // namespace minfer
