#include "graph/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "graph/registry.h"

namespace minfer {
namespace {

// Some 150 MB of JSON: what viewers still open.
constexpr size_t kMaxEvents = 1'000'000;
constexpr uint32_t kHost = 1, kDevices = 2;  // tracks; kDevices + id of the backend

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double microseconds(TimeWatch::Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

std::string name_of_track(const char* what, uint32_t track, std::string_view name) {
    return dump(
        {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}});
}

}  // namespace

void Timeline::add(std::string name, Span span) { add(std::move(name), "program", kHost, span); }

void Timeline::add(std::string name, std::string_view category, uint32_t track, Span span) {
    if (events_.size() == kMaxEvents) {
        ++n_left_out_;
        return;
    }
    events_.push_back({.name = &*names_.insert(std::move(name)).first,
                       .category = category,
                       .track = track,
                       .span = span});
}

void Timeline::begin(const Graph& graph) {
    const auto* const ids = graph.find("token_ids");
    n_tokens_ = ids != nullptr ? ids->shape[0] : 0;
    encode_from_.reset();
}

void Timeline::node(const Node& node, Span ran) {
    if (node.backend == BackendId::Cpu)
        add(fmt::format("{} {}", op_name(node.op), node.name), "op", kHost, ran);
    else if (!encode_from_)
        encode_from_ = ran.begin;
}

void Timeline::wait(BackendId backend, size_t n_nodes, Span waited) {
    const auto split = fmt::format("split of {} nodes", n_nodes);
    add("encode " + split, "split", kHost, {encode_from_.value_or(waited.begin), waited.begin});
    add(split, "split", kDevices + std::to_underlying(backend), waited);
    encode_from_.reset();
}

void Timeline::end(Span executed) {
    add(n_tokens_ == 1 ? "step of 1 token" : fmt::format("prompt piece of {} tokens", n_tokens_),
        "step", kHost, executed);
}

std::string Timeline::to_json() const {
    auto text = "[\n" + name_of_track("process_name", kHost, "minfer") + ",\n" +
                name_of_track("thread_name", kHost, "host");
    for (const auto& backend : known_backends()) {
        const auto track = kDevices + std::to_underlying(backend.id);
        if (std::ranges::find(events_, track, &Event::track) != events_.end())
            text += ",\n" + name_of_track("thread_name", track, backend.name);
    }
    auto first = Clock::time_point::max();
    for (const auto& event : events_) first = std::min(first, event.span.begin);
    for (const auto& [name, category, track, span] : events_)
        text += fmt::format(
            ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},"
            "\"pid\":1,\"tid\":{}}}",
            dump(*name), category, microseconds(span.begin - first),
            microseconds(span.end - span.begin), track);
    if (n_left_out_ > 0)
        text += fmt::format(
            ",\n{{\"name\":\"{} later events were left "
            "out\",\"ph\":\"i\",\"s\":\"g\",\"ts\":{:.3f},"
            "\"pid\":1,\"tid\":{}}}",
            n_left_out_, microseconds(events_.back().span.end - first), kHost);
    return text + "\n]\n";
}

}  // namespace minfer
