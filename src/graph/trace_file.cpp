#include "graph/trace_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "minfer-trace";
constexpr int64_t kVersion = 1;

// Texts may be parts of characters: those bytes are replaced.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

Json to_json(const TraceValue& traced) {
    auto stats = Json{{"min", traced.stats.min},
                      {"max", traced.stats.max},
                      {"mean", traced.stats.mean},
                      {"mean_abs", traced.stats.mean_abs}};
    if (traced.stats.non_finite > 0) stats["non_finite"] = traced.stats.non_finite;
    auto values = Json::array();
    for (const auto value : traced.values)
        values.push_back(traced.dtype == DType::I32 ? Json(static_cast<int64_t>(value))
                                                    : number(value));
    return {{"id", traced.id},           {"dtype", name(traced.dtype)},
            {"stats", std::move(stats)}, {"values", std::move(values)},
            {"stride", traced.stride},   {"n", traced.n}};
}

// A line for each node, so that a file of many steps can be looked at.
std::string step_text(const TraceStep& step, const TokenText& text) {
    auto top = Json::array();
    for (const auto& candidate : step.top)
        top.push_back({{"token", candidate.token},
                       {"text", text(candidate.token)},
                       {"logit", number(candidate.logit)},
                       {"probability", number(candidate.probability)}});
    const auto head = Json{{"n_tokens", step.n_tokens},
                           {"token", step.token},
                           {"text", text(step.token)},
                           {"logits_top", std::move(top)}};
    auto written = dump(head);
    written.back() = ',';  // of the closing brace
    written += "\"nodes\":[";
    for (size_t i = 0; i < step.values.size(); ++i)
        written += (i ? ",\n" : "\n") + dump(to_json(step.values[i]));
    return written + "]}";
}

// Reads fields and says which one is wrong.
class Field {
  public:
    Field(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

    Result<Field> at(std::string_view key) const {
        if (!json_.is_object()) return wrong("an object");
        const auto found = json_.find(key);
        if (found == json_.end()) return fail(Fault::BadInput, "{}has no '{}'", prefix(), key);
        return Field(*found, place_.empty() ? std::string(key) : fmt::format("{}.{}", place_, key));
    }
    bool has(std::string_view key) const { return json_.is_object() && json_.contains(key); }
    Result<std::vector<Field>> items() const {
        if (!json_.is_array()) return wrong("a list");
        std::vector<Field> list;
        list.reserve(json_.size());
        for (size_t i = 0; i < json_.size(); ++i)
            list.emplace_back(json_[i], fmt::format("{}[{}]", place_, i));
        return list;
    }
    Result<std::string> text() const {
        if (!json_.is_string()) return wrong("a text");
        return json_.get<std::string>();
    }
    template <class T>
    Result<T> whole() const {
        // As a double, 2^53 at most: counts, ids and integers of 32 bits all are.
        if (!json_.is_number_integer()) return wrong("a whole number");
        const auto value = json_.get<double>();
        constexpr double kExact = 9007199254740992;
        const double low =
            std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : 0;
        const double high = std::min(static_cast<double>(std::numeric_limits<T>::max()), kExact);
        if (value < low || value > high) return wrong("a number of its range");
        return static_cast<T>(value);
    }
    Result<double> number() const {
        if (json_.is_number()) return json_.get<double>();
        if (json_ == "nan") return std::numeric_limits<double>::quiet_NaN();
        if (json_ == "inf") return std::numeric_limits<double>::infinity();
        if (json_ == "-inf") return -std::numeric_limits<double>::infinity();
        return wrong("a number");
    }
    // The same of the field of that name.
    Result<std::vector<Field>> items(std::string_view key) const {
        const auto field = MINFER_TRY(at(key));
        return field.items();
    }
    Result<std::string> text(std::string_view key) const {
        const auto field = MINFER_TRY(at(key));
        return field.text();
    }
    template <class T>
    Result<T> whole(std::string_view key) const {
        const auto field = MINFER_TRY(at(key));
        return field.template whole<T>();
    }
    Result<double> number(std::string_view key) const {
        const auto field = MINFER_TRY(at(key));
        return field.number();
    }
    std::unexpected<Error> wrong(std::string_view wanted) const {
        return fail(Fault::BadInput, "{} is not {}", place_.empty() ? "it" : place_, wanted);
    }

  private:
    std::string prefix() const { return place_.empty() ? "" : place_ + " "; }
    const Json& json_;
    std::string place_;
};

Result<TraceValue> read_value(const Field& field) {
    TraceValue traced;
    traced.id = MINFER_TRY(field.whole<NodeId>("id"));
    const auto type_field = MINFER_TRY(field.at("dtype"));
    const auto type = MINFER_TRY(type_field.text());
    if (type != name(DType::F32) && type != name(DType::I32))
        return type_field.wrong(fmt::format("{} or {}", name(DType::F32), name(DType::I32)));
    traced.dtype = type == name(DType::I32) ? DType::I32 : DType::F32;
    const auto stats = MINFER_TRY(field.at("stats"));
    traced.stats.min = MINFER_TRY(stats.number("min"));
    traced.stats.max = MINFER_TRY(stats.number("max"));
    traced.stats.mean = MINFER_TRY(stats.number("mean"));
    traced.stats.mean_abs = MINFER_TRY(stats.number("mean_abs"));
    if (stats.has("non_finite"))
        traced.stats.non_finite = MINFER_TRY(stats.whole<size_t>("non_finite"));
    traced.n = MINFER_TRY(field.whole<size_t>("n"));
    const auto stride = MINFER_TRY(field.at("stride"));
    traced.stride = MINFER_TRY(stride.whole<size_t>());
    if (traced.stride == 0) return stride.wrong("1 or more");
    const auto values = MINFER_TRY(field.at("values"));
    const auto list = MINFER_TRY(values.items());
    for (const auto& item : list) {
        const auto value = MINFER_TRY(item.number());
        traced.values.push_back(value);
    }
    const auto wanted = traced.n / traced.stride + (traced.n % traced.stride != 0);
    if (traced.values.size() != wanted) return values.wrong(fmt::format("{} long", wanted));
    return traced;
}

Result<TraceStep> read_step(const Field& field) {
    TraceStep step;
    step.n_tokens = MINFER_TRY(field.whole<size_t>("n_tokens"));
    step.token = MINFER_TRY(field.whole<int32_t>("token"));
    const auto logits_top_list = MINFER_TRY(field.items("logits_top"));
    for (const auto& item : logits_top_list) {
        TraceCandidate candidate;
        candidate.token = MINFER_TRY(item.whole<int32_t>("token"));
        candidate.logit = MINFER_TRY(item.number("logit"));
        candidate.probability = MINFER_TRY(item.number("probability"));
        step.top.push_back(candidate);
    }
    const auto nodes_list = MINFER_TRY(field.items("nodes"));
    for (const auto& item : nodes_list) {
        auto value = MINFER_TRY(read_value(item));
        step.values.push_back(std::move(value));
    }
    return step;
}

Result<TracePhase> read_phase(const Field& field, const Json& json) {
    TracePhase phase;
    phase.kind = MINFER_TRY(field.text("kind"));
    const auto graph = MINFER_TRY(field.at("graph"));
    const auto nodes_list = MINFER_TRY(graph.items("nodes"));
    for (const auto& item : nodes_list) {
        TraceNode node;
        node.id = MINFER_TRY(item.whole<NodeId>("id"));
        node.name = MINFER_TRY(item.text("name"));
        node.op = MINFER_TRY(item.text("op"));
        node.backend = MINFER_TRY(item.text("backend"));
        phase.nodes.push_back(std::move(node));
    }
    phase.graph = dump(json["graph"]);
    const auto steps_list = MINFER_TRY(field.items("steps"));
    for (const auto& item : steps_list) {
        auto step = MINFER_TRY(read_step(item));
        phase.steps.push_back(std::move(step));
    }
    return phase;
}

}  // namespace

std::string trace_to_json(const Trace& trace, const TokenText& text) {
    auto written = dump({{"format", kFormat},
                         {"version", kVersion},
                         {"model", trace.model},
                         {"prompt", trace.prompt}});
    written.back() = ',';
    written += "\"phases\":[";
    for (size_t p = 0; p < trace.phases.size(); ++p) {
        const auto& phase = trace.phases[p];
        written += fmt::format("{}{{\"kind\":{},\"graph\":{},\"steps\":[", p ? ",\n" : "\n",
                               dump(phase.kind), phase.graph);
        for (size_t s = 0; s < phase.steps.size(); ++s)
            written += (s ? ",\n" : "\n") + step_text(phase.steps[s], text);
        written += "]}";
    }
    return written + "]}\n";
}

Result<Trace> trace_from_json(std::string_view text) {
    const auto json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return fail(Fault::BadInput, "not JSON, or only a part of it");
    const auto root = Field(json, "");
    if (!json.is_object() || !root.has("format") || json["format"] != kFormat)
        return fail(Fault::BadInput, "not a trace: its format is not \"{}\"", kFormat);
    const auto version = MINFER_TRY(root.whole<int64_t>("version"));
    if (version != kVersion)
        return fail(Fault::BadInput, "a trace of version {}, this build reads version {}", version,
                    kVersion);
    Trace trace;
    trace.model = MINFER_TRY(root.text("model"));
    trace.prompt = MINFER_TRY(root.text("prompt"));
    const auto phases = MINFER_TRY(root.items("phases"));
    for (size_t p = 0; p < phases.size(); ++p) {
        auto phase = MINFER_TRY(read_phase(phases[p], json["phases"][p]));
        trace.phases.push_back(std::move(phase));
    }
    return trace;
}

}  // namespace minfer
