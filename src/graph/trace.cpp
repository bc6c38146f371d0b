#include "graph/trace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "graph/export.h"
#include "graph/liveness.h"
#include "graph/registry.h"

namespace minfer {
namespace {

constexpr size_t kSample = 64;
constexpr size_t kCandidates = 5;

template <class T>
std::vector<T> elements_of(std::span<const std::byte> bytes) {
    MINFER_ASSERT(bytes.size() % sizeof(T) == 0);
    auto values = std::vector<T>(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

double rounded(double value) {
    return std::isfinite(value) ? std::round(value * 1e6) / 1e6 : value;
}

template <class T>
TraceStats stats_of(std::span<const T> values) {
    TraceStats stats;
    double sum = 0, sum_abs = 0;
    size_t finite = 0;
    for (const T element : values) {
        const auto value = static_cast<double>(element);
        if (!std::isfinite(value)) {
            ++stats.non_finite;
            continue;
        }
        stats.min = finite ? std::min(stats.min, value) : value;
        stats.max = finite ? std::max(stats.max, value) : value;
        sum += value;
        sum_abs += std::fabs(value);
        ++finite;
    }
    if (finite == 0) return stats;
    stats.mean = sum / static_cast<double>(finite);
    stats.mean_abs = sum_abs / static_cast<double>(finite);
    return stats;
}

template <class T>
TraceValue trace_elements(NodeId id, DType dtype, std::span<const std::byte> bytes) {
    const auto all = elements_of<T>(bytes);
    auto traced = TraceValue{.id = id, .dtype = dtype, .stats = stats_of(std::span<const T>(all))};
    traced.n = all.size();
    traced.stride = traced.n <= kSample ? 1 : (traced.n + kSample - 1) / kSample;
    for (size_t i = 0; i < traced.n; i += traced.stride)
        traced.values.push_back(rounded(static_cast<double>(all[i])));
    return traced;
}

// Of one row of logits. NaN is nobody's candidate.
std::vector<TraceCandidate> candidates(std::span<const float> logits) {
    auto order = std::vector<int32_t>();
    for (size_t i = 0; i < logits.size(); ++i)
        if (!std::isnan(logits[i])) order.push_back(static_cast<int32_t>(i));
    const auto logit = [&](int32_t token) { return logits[static_cast<size_t>(token)]; };
    const auto n_top = std::min(kCandidates, order.size());
    std::ranges::partial_sort(
        order, order.begin() + static_cast<std::ptrdiff_t>(n_top),
        [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
    double sum = 0;
    for (const auto token : order)
        sum += std::exp(static_cast<double>(logit(token)) - logit(order.front()));
    std::vector<TraceCandidate> top;
    for (const auto token : std::span(order).first(n_top))
        top.push_back(
            {.token = token,
             .logit = logit(token),
             .probability =
                 std::exp(static_cast<double>(logit(token)) - logit(order.front())) / sum});
    return top;
}

std::string backend_name(const Node& node) {
    if (!node.backend) return "none";
    return std::string(std::ranges::find(known_backends(), *node.backend, &KnownBackend::id)->name);
}

}  // namespace

TraceValue trace_value(NodeId id, DType dtype, std::span<const std::byte> bytes) {
    MINFER_ASSERT(dtype == DType::F32 || dtype == DType::I32);
    return dtype == DType::I32 ? trace_elements<int32_t>(id, dtype, bytes)
                               : trace_elements<float>(id, dtype, bytes);
}

void TraceRecorder::begin(const Graph& graph) {
    graph_ = &graph;
    step_ = {};
}

void TraceRecorder::value(const Node& node, std::span<const std::byte> value) {
    step_.values.push_back(trace_value(node.id, node.dtype, value));
    if (node.name == "token_ids" && !value.empty()) {
        const auto ids = elements_of<int32_t>(value);
        step_.n_tokens = ids.size();
        step_.token = ids.back();
    }
    if (!graph_->outputs.empty() && node.id == graph_->outputs.front()) {
        const auto logits = elements_of<float>(value);
        step_.top = candidates(std::span(logits).last(node.shape[0]));
    }
}

void TraceRecorder::end() {
    if (trace_.phases.empty() || uid_ != graph_->uid) {
        auto phase = TracePhase{.kind = step_.n_tokens == 1 ? "decode" : "prefill"};
        phase.graph = to_json(*graph_, {.model = trace_.model, .kind = phase.kind});
        const auto live = live_nodes(*graph_);
        for (const auto& node : graph_->nodes)
            if (live[node.id])
                phase.nodes.push_back({.id = node.id,
                                       .name = node.name,
                                       .op = std::string(op_name(node.op)),
                                       .backend = backend_name(node)});
        trace_.phases.push_back(std::move(phase));
        uid_ = graph_->uid;
    }
    trace_.phases.back().steps.push_back(std::exchange(step_, {}));
    graph_ = nullptr;
}

}  // namespace minfer
