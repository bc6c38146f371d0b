#include "graph/export.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "graph/liveness.h"
#include "graph/registry.h"

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

// Names come from model files: bytes that are no UTF-8 are replaced, never thrown about.
std::string dump(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// The shortest decimal that reads back as this float: 1e-06, not 9.999999974752427e-07.
Json number(float value) { return Json::parse(fmt::format("{}", value), nullptr, false); }

Json detail_of(const op::Scale& op) { return {{"factor", number(op.factor)}}; }
Json detail_of(const op::RmsNorm& op) { return {{"eps", number(op.eps)}}; }
Json detail_of(const op::QkNorm& op) {
    return {{"eps", number(op.eps)}, {"n_head", op.n_head}, {"head_dim", op.head_dim}};
}
Json detail_of(const op::MatMul& op) { return {{"in_dim", op.in_dim}, {"out_dim", op.out_dim}}; }
Json detail_of(const op::Embed& op) { return {{"width", op.width}, {"vocab", op.vocab}}; }
std::string_view name(op::RopeStyle style) {
    return style == op::RopeStyle::Interleaved ? "interleaved" : "non_interleaved";
}
Json detail_of(const op::Rope& op) {
    return {{"style", name(op.style)},
            {"freq_base", number(op.freq_base)},
            {"freq_scale", number(op.freq_scale)},
            {"n_head", op.n_head},
            {"head_dim", op.head_dim}};
}
Json detail_of(const op::KvStore& op) {
    return {{"layer", op.layer}, {"format", name(op.layout.format)}, {"n_ctx", op.n_ctx}};
}
Json detail_of(const op::KvLoad& op) {
    return {{"layer", op.layer}, {"format", name(op.layout.format)}, {"n_ctx", op.n_ctx}};
}
Json detail_of(const op::Attention& op) {
    return {{"layer", op.layer},         {"n_head", op.n_head},
            {"n_head_kv", op.n_head_kv}, {"head_dim", op.head_dim},
            {"scale", number(op.scale)}, {"explicit_span", op.explicit_span}};
}
Json detail_of(const op::QkvProjection& op) {
    return {{"layer", op.layer},
            {"in_dim", op.in_dim},
            {"n_head", op.n_head},
            {"n_head_kv", op.n_head_kv},
            {"head_dim", op.head_dim},
            {"style", name(op.style)},
            {"freq_base", number(op.freq_base)},
            {"freq_scale", number(op.freq_scale)},
            {"format", name(op.layout.format)},
            {"n_ctx", op.n_ctx}};
}
Json detail_of(const op::FusedQkv& op) { return detail_of(op.qkv); }
Json detail_of(const op::FusedQkvNorm& op) {
    auto json = detail_of(op.qkv);
    json["eps"] = number(op.eps);
    return json;
}
Json detail_of(const op::FusedFfn& op) { return {{"in_dim", op.in_dim}, {"width", op.width}}; }
Json detail_of(const op::View& op) { return {{"offset", op.offset}}; }
Json detail_of(const auto&) { return Json::object(); }

Json detail(const Op& op) {
    return std::visit([](const auto& alternative) { return detail_of(alternative); }, op);
}

// How many of an op's weights come before its biases or norms, and what those are called.
size_t n_matrices(const Op& op) {
    if (const auto* fused = std::get_if<op::FusedQkv>(&op)) return fused->qkv.weights.size();
    if (const auto* fused = std::get_if<op::FusedQkvNorm>(&op)) return fused->qkv.weights.size();
    if (const auto* fused = std::get_if<op::FusedFfn>(&op)) return fused->weights.size();
    return 1;
}
std::string_view further_role(const Op& op) {
    return std::holds_alternative<op::FusedQkvNorm>(op) ? "norm" : "bias";
}

Json weights(const Op& op) {
    auto list = Json::array();
    for (const auto weight : op_weights(op)) {
        const bool first = list.size() < n_matrices(op);  // norms and biases are f32
        const auto dtype = first ? op_matrix_dtype(op).value_or(DType::F32) : DType::F32;
        list.push_back({{"name", weight},
                        {"role", first ? "weight" : further_role(op)},
                        {"dtype", name(dtype)}});
    }
    return list;
}

Json backend_name(const Node& node) {
    if (!node.backend) return nullptr;
    return std::ranges::find(known_backends(), *node.backend, &KnownBackend::id)->name;
}

std::string_view fill_color(const Node& node) {
    if (!node.backend) return "white";
    switch (*node.backend) {
        case BackendId::Cpu:
            return "lightblue";
        case BackendId::Metal:
            return "lightsalmon";
        case BackendId::Cuda:
            return "palegreen";
    }
    std::unreachable();
}

std::string dot_label(const Node& node) {
    auto label = fmt::format("{}\n{} {} {}", node.name, op_name(node.op), name(node.dtype),
                             shape_text(node.shape));
    auto separator = '\n';
    for (const auto& [key, value] : detail(node.op).items()) {
        label += fmt::format("{}{}={}", separator, key,
                             value.is_string() ? value.get<std::string>() : dump(value));
        separator = ' ';
    }
    for (const auto& weight : weights(node.op))
        label += fmt::format("\n{} {}", weight["name"].get<std::string>(),
                             weight["dtype"].get<std::string>());
    return dump(label);  // quotes and escapes as DOT does
}

}  // namespace

std::string to_dot(const Graph& graph, const ExportInfo& info) {
    const auto live = live_nodes(graph);
    auto text = fmt::format("digraph {} {{\n    node [shape=box, style=filled];\n",
                            dump(info.model + " " + info.kind));
    for (const auto& node : graph.nodes) {
        if (!live[node.id]) continue;
        const bool is_edge_of_graph = std::holds_alternative<op::Input>(node.op) ||
                                      std::ranges::count(graph.outputs, node.id) > 0;
        text += fmt::format("    n{} [label={}, fillcolor={}, peripheries={}];\n", node.id,
                            dot_label(node), fill_color(node), is_edge_of_graph ? 2 : 1);
        for (const NodeId src : node.src) text += fmt::format("    n{} -> n{};\n", src, node.id);
    }
    return text + "}\n";
}

std::string to_json(const Graph& graph, const ExportInfo& info) {
    const auto live = live_nodes(graph);
    auto nodes = Json::array();
    for (const auto& node : graph.nodes) {
        if (!live[node.id]) continue;
        auto entry = Json{{"id", node.id},
                          {"name", node.name},
                          {"op", op_name(node.op)},
                          {"detail", detail(node.op)},
                          {"shape", node.shape},
                          {"dtype", name(node.dtype)},
                          {"backend", backend_name(node)},
                          {"src", node.src},
                          {"weights", weights(node.op)}};
        if (node.layer) entry["layer"] = *node.layer;
        nodes.push_back(std::move(entry));
    }
    return dump({{"format", "minfer-graph"},
                 {"version", 1},
                 {"model", info.model},
                 {"kind", info.kind},
                 {"inputs", graph.inputs},
                 {"outputs", graph.outputs},
                 {"nodes", std::move(nodes)}},
                2) +
           "\n";
}

}  // namespace minfer
