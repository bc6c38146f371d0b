#include "graph/trace_compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/printable.h"

namespace minfer {
namespace {

// What samples are rounded to in a file.
constexpr double kRounding = 1e-6;

struct StepRef {
    const TracePhase* phase = nullptr;
    const TraceStep* step = nullptr;
};

std::vector<StepRef> steps_of(const Trace& trace) {
    std::vector<StepRef> steps;
    for (const auto& phase : trace.phases)
        for (const auto& step : phase.steps) steps.push_back({&phase, &step});
    return steps;
}

struct Named {
    const TraceNode* node = nullptr;
    const TraceValue* value = nullptr;
};

// In the order of execution.
Result<std::vector<Named>> values_of(const StepRef& ref) {
    auto nodes = std::map<NodeId, const TraceNode*>();
    for (const auto& node : ref.phase->nodes) nodes[node.id] = &node;
    std::vector<Named> values;
    for (const auto& value : ref.step->values) {
        const auto found = nodes.find(value.id);
        if (found == nodes.end())
            return fail(Fault::BadInput, "a value of node {}, which its graph does not have",
                        value.id);
        values.push_back({found->second, &value});
    }
    return values;
}

// 0 for values that are the same, infinite when only one of them is a number.
double relative_difference(double a, double b, double magnitude) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
    const auto difference = std::max(0.0, std::fabs(a - b) - kRounding);
    return difference == 0 ? 0 : difference / std::max({magnitude, std::fabs(a), std::fabs(b)});
}

struct Worst {
    std::string what;
    double relative = 0, a = 0, b = 0;
};

Worst worst_of(const TraceValue& a, const TraceValue& b) {
    Worst worst;
    const auto magnitude = std::max(a.stats.mean_abs, b.stats.mean_abs);
    const auto look = [&](const auto& what, double x, double y) {
        const auto relative = relative_difference(x, y, magnitude);
        if (relative > worst.relative) worst = {what(), relative, x, y};
    };
    for (size_t i = 0; i < a.values.size(); ++i)
        look([&] { return fmt::format("value[{}]", i * a.stride); }, a.values[i], b.values[i]);
    const auto named = [](const char* name) { return [name] { return std::string(name); }; };
    look(named("min"), a.stats.min, b.stats.min);
    look(named("max"), a.stats.max, b.stats.max);
    look(named("mean"), a.stats.mean, b.stats.mean);
    look(named("mean_abs"), a.stats.mean_abs, b.stats.mean_abs);
    if (a.stats.non_finite != b.stats.non_finite && std::isfinite(worst.relative))
        worst = {"non_finite", std::numeric_limits<double>::infinity(),
                 static_cast<double>(a.stats.non_finite), static_cast<double>(b.stats.non_finite)};
    return worst;
}

Result<> check_same_kind(const Named& a, const Named& b) {
    if (a.value->dtype == b.value->dtype && a.value->n == b.value->n &&
        a.value->stride == b.value->stride)
        return {};
    return fail(Fault::BadInput, "node {} is {} values of {} in the first, {} of {} in the second",
                printable(a.node->name), a.value->n, name(a.value->dtype), b.value->n,
                name(b.value->dtype));
}

TraceSide side(const Named& named, double value) {
    return {.op = named.node->op,
            .backend = named.node->backend,
            .stats = named.value->stats,
            .value = value};
}

}  // namespace

Result<TraceComparison> compare_traces(const Trace& a, const Trace& b, double bound) {
    if (a.model != b.model)
        return fail(Fault::BadInput, "the traces are of different models, {} and {}",
                    printable(a.model), printable(b.model));
    if (a.prompt != b.prompt)
        return fail(Fault::BadInput, "the traces are of different prompts, {} and {}",
                    printable(a.prompt), printable(b.prompt));
    const auto steps_a = steps_of(a), steps_b = steps_of(b);
    auto result = TraceComparison{.steps_a = steps_a.size(), .steps_b = steps_b.size()};
    size_t n_matched = 0;
    for (size_t s = 0; s < std::min(steps_a.size(), steps_b.size()); ++s) {
        if (steps_a[s].step->n_tokens != steps_b[s].step->n_tokens)
            return fail(Fault::BadInput,
                        "step {} evaluates {} tokens in the first, {} in the second", s,
                        steps_a[s].step->n_tokens, steps_b[s].step->n_tokens);
        const auto values_a = MINFER_TRY(values_of(steps_a[s]));
        const auto values_b = MINFER_TRY(values_of(steps_b[s]));
        auto by_name = std::map<std::string_view, const Named*>();
        for (const auto& named : values_b) by_name[named.node->name] = &named;
        size_t matched = 0;
        for (const auto& one : values_a) {
            const auto found = by_name.find(one.node->name);
            if (found == by_name.end()) {
                ++result.only_a;
                continue;
            }
            const auto& other = *found->second;
            MINFER_TRY(check_same_kind(one, other));
            ++matched;
            const auto worst = worst_of(*one.value, *other.value);
            if (worst.relative <= (one.value->dtype == DType::I32 ? 0 : bound)) {
                ++result.n_equal;
                continue;
            }
            result.first = TraceDifference{.step = s,
                                           .kind = steps_a[s].phase->kind,
                                           .token = steps_a[s].step->token,
                                           .node = one.node->name,
                                           .what = worst.what,
                                           .relative = worst.relative,
                                           .a = side(one, worst.a),
                                           .b = side(other, worst.b)};
            return result;
        }
        result.only_b += values_b.size() - matched;
        n_matched += matched;
    }
    if (n_matched == 0) return fail(Fault::BadInput, "the traces have no node in common");
    return result;
}

}  // namespace minfer
