#include "graph/builder.h"

#include <cmath>
#include <utility>

namespace minfer {
namespace {

// Stands in for a source that does not exist; the error is already recorded.
const Node kMissing{};

bool is_kv(const Op& op) {
    return std::holds_alternative<op::KvStore>(op) || std::holds_alternative<op::KvLoad>(op);
}

// Far above any real tensor and low enough that byte sizes of it cannot wrap.
constexpr size_t kMaxElements = size_t{1} << 48;

bool countable(const Shape& shape) {
    size_t product = 1;
    for (const size_t extent : shape) {
        if (extent == 0 || extent > kMaxElements / product) return false;
        product *= extent;
    }
    return true;
}

}  // namespace

const Node& GraphBuilder::source(std::string_view node, std::string_view role, NodeId id,
                                 DType dtype) {
    require(id < graph_.nodes.size(), node, "{} is node {}, of {} so far", role, id,
            graph_.nodes.size());
    if (error_) return kMissing;
    const auto& found = graph_.nodes[id];
    require(!is_kv(found.op), node, "{} is '{}', a KV region; only KvLoad and Attention read those",
            role, found.name);
    require(found.dtype == dtype, node, "{} is '{}' of type {}, not {}", role, found.name,
            name(found.dtype), name(dtype));
    return found;
}

const Node& GraphBuilder::rows(std::string_view node, std::string_view role, NodeId id) {
    const auto& found = source(node, role, id, DType::F32);
    require(found.shape[2] == 1 && found.shape[3] == 1, node, "{} is '{}' {}, not [width, tokens]",
            role, found.name, shape_text(found.shape));
    return found;
}

void GraphBuilder::indices(std::string_view node, std::string_view role, NodeId id, size_t count) {
    const auto& found = source(node, role, id, DType::I32);
    require(elements(found.shape) == count, node, "{} is '{}' {}, not {} integers", role,
            found.name, shape_text(found.shape), count);
}

void GraphBuilder::weight_matrix(std::string_view node, std::string_view weight, DType dtype,
                                 size_t in_dim, size_t out_dim) {
    require(!weight.empty(), node, "its weight has no name");
    require(in_dim > 0 && out_dim > 0, node, "weight '{}' is {} by {}", weight, in_dim, out_dim);
    require(in_dim % info(dtype).block_values == 0, node,
            "rows of weight '{}' have {} values, not a multiple of the {} in a block of {}", weight,
            in_dim, info(dtype).block_values, minfer::name(dtype));
}

void GraphBuilder::heads(std::string_view node, const Node& x, size_t n_head, size_t head_dim) {
    require(
        n_head > 0 && head_dim > 0 && x.shape[0] % head_dim == 0 && x.shape[0] / head_dim == n_head,
        node, "'{}' {} is not {} heads of {}", x.name, shape_text(x.shape), n_head, head_dim);
}

void GraphBuilder::rotation(std::string_view node, size_t head_dim, float freq_base,
                            float freq_scale) {
    require(head_dim % 2 == 0, node, "head_dim {} is odd, but RoPE turns pairs", head_dim);
    require(std::isfinite(freq_base) && freq_base > 0, node, "freq_base is {}", freq_base);
    require(std::isfinite(freq_scale) && freq_scale > 0, node, "freq_scale is {}", freq_scale);
}

void GraphBuilder::norm(std::string_view node, std::string_view weight, float eps) {
    require(!weight.empty(), node, "its weight has no name");
    require(std::isfinite(eps) && eps >= 0, node, "eps is {}", eps);
}

void GraphBuilder::kv_region(std::string_view node, const KvLayout& layout, size_t n_ctx) {
    require(n_ctx > 0 && countable({layout.width, n_ctx, 1, 1}), node,
            "a KV region of {} cells of {} elements", n_ctx, layout.width);
    require(layout.format != KvFormat::Q8_0 || layout.width % 32 == 0, node,
            "q8_0 KV cells of {} elements, not a multiple of 32", layout.width);
    if (error_) return;
    const auto expected = kv_layout(layout.format, layout.width);
    require(layout == expected, node, "KV rows of {} bytes, not {}", layout.row_bytes,
            expected.row_bytes);
}

NodeId GraphBuilder::append(std::string name, Op op, std::initializer_list<NodeId> src, Shape shape,
                            DType dtype) {
    require(countable(shape), name, "its shape {} is empty or too large", shape_text(shape));
    require(!name.empty(), name, "a node needs a name");
    if (error_) return 0;
    require(names_.insert(name).second, name, "another node has this name");
    if (error_) return 0;
    const auto id = static_cast<NodeId>(graph_.nodes.size());
    const bool is_input = std::holds_alternative<op::Input>(op);
    graph_.nodes.push_back({.id = id,
                            .name = std::move(name),
                            .op = std::move(op),
                            .src = src,
                            .shape = shape,
                            .dtype = dtype,
                            .layer = is_input ? std::nullopt : layer_});
    return id;
}

NodeId GraphBuilder::input(std::string name, DType dtype, Shape shape) {
    require(dtype == DType::F32 || dtype == DType::I32, name, "an input of type {}, not F32 or I32",
            minfer::name(dtype));
    require(graph_.inputs.size() == graph_.nodes.size(), name,
            "an input after the first other node ('{}')",
            graph_.inputs.size() < graph_.nodes.size() ? graph_.nodes[graph_.inputs.size()].name
                                                       : std::string());
    const auto id = append(std::move(name), op::Input{}, {}, shape, dtype);
    if (!error_) graph_.inputs.push_back(id);
    return id;
}

NodeId GraphBuilder::same_shape(std::string name, Op op, NodeId a, NodeId b) {
    const auto& left = source(name, "the first source", a, DType::F32);
    const auto& right = source(name, "the second source", b, DType::F32);
    require(left.shape == right.shape, name, "'{}' {} and '{}' {} differ in shape", left.name,
            shape_text(left.shape), right.name, shape_text(right.shape));
    return append(std::move(name), std::move(op), {a, b}, left.shape, DType::F32);
}

NodeId GraphBuilder::add(std::string name, NodeId a, NodeId b) {
    return same_shape(std::move(name), op::Add{}, a, b);
}

NodeId GraphBuilder::mul(std::string name, NodeId a, NodeId b) {
    return same_shape(std::move(name), op::Mul{}, a, b);
}

NodeId GraphBuilder::swiglu(std::string name, NodeId gate, NodeId up) {
    return same_shape(std::move(name), op::SwiGlu{}, gate, up);
}

NodeId GraphBuilder::scale(std::string name, NodeId x, float factor) {
    const auto shape = source(name, "x", x, DType::F32).shape;
    require(std::isfinite(factor), name, "the factor {} is not finite", factor);
    return append(std::move(name), op::Scale{.factor = factor}, {x}, shape, DType::F32);
}

NodeId GraphBuilder::silu(std::string name, NodeId x) {
    const auto shape = source(name, "x", x, DType::F32).shape;
    return append(std::move(name), op::Silu{}, {x}, shape, DType::F32);
}

NodeId GraphBuilder::softmax(std::string name, NodeId x) {
    const auto shape = source(name, "x", x, DType::F32).shape;
    return append(std::move(name), op::Softmax{}, {x}, shape, DType::F32);
}

NodeId GraphBuilder::rms_norm(std::string name, NodeId x, op::RmsNorm norm) {
    const auto shape = source(name, "x", x, DType::F32).shape;
    this->norm(name, norm.weight, norm.eps);
    return append(std::move(name), std::move(norm), {x}, shape, DType::F32);
}

NodeId GraphBuilder::qk_norm(std::string name, NodeId x, op::QkNorm norm) {
    const auto& in = rows(name, "x", x);
    heads(name, in, norm.n_head, norm.head_dim);
    this->norm(name, norm.weight, norm.eps);
    return append(std::move(name), std::move(norm), {x}, in.shape, DType::F32);
}

NodeId GraphBuilder::matmul(std::string name, NodeId x, op::MatMul matmul) {
    const auto& in = rows(name, "x", x);
    weight_matrix(name, matmul.weight, matmul.dtype, matmul.in_dim, matmul.out_dim);
    require(in.shape[0] == matmul.in_dim, name, "x is '{}' {}, but weight '{}' takes rows of {}",
            in.name, shape_text(in.shape), matmul.weight, matmul.in_dim);
    const auto shape = Shape{matmul.out_dim, in.shape[1], 1, 1};
    return append(std::move(name), std::move(matmul), {x}, shape, DType::F32);
}

NodeId GraphBuilder::embed(std::string name, NodeId ids, op::Embed embed) {
    const auto& in = source(name, "ids", ids, DType::I32);
    weight_matrix(name, embed.weight, embed.dtype, embed.width, embed.vocab);
    const auto shape = Shape{embed.width, elements(in.shape), 1, 1};
    return append(std::move(name), std::move(embed), {ids}, shape, DType::F32);
}

NodeId GraphBuilder::gather_rows(std::string name, NodeId x, NodeId ids) {
    const auto& in = rows(name, "x", x);
    const auto& list = source(name, "ids", ids, DType::I32);
    const auto shape = Shape{in.shape[0], elements(list.shape), 1, 1};
    return append(std::move(name), op::GatherRows{}, {x, ids}, shape, DType::F32);
}

NodeId GraphBuilder::rope(std::string name, NodeId x, NodeId positions, op::Rope rope) {
    const auto& in = rows(name, "x", x);
    heads(name, in, rope.n_head, rope.head_dim);
    rotation(name, rope.head_dim, rope.freq_base, rope.freq_scale);
    indices(name, "positions", positions, in.shape[1]);
    return append(std::move(name), rope, {x, positions}, in.shape, DType::F32);
}

NodeId GraphBuilder::kv_store(std::string name, NodeId k, NodeId v, NodeId cells,
                              op::KvStore store) {
    const auto& keys = rows(name, "k", k);
    const auto& values = rows(name, "v", v);
    kv_region(name, store.layout, store.n_ctx);
    require(keys.shape[0] == store.layout.width, name, "k is '{}' {}, but a cell has {} elements",
            keys.name, shape_text(keys.shape), store.layout.width);
    require(keys.shape == values.shape, name, "k is '{}' {} and v is '{}' {}", keys.name,
            shape_text(keys.shape), values.name, shape_text(values.shape));
    require(keys.shape[1] <= store.n_ctx, name, "{} tokens, but the cache has {} cells",
            keys.shape[1], store.n_ctx);
    indices(name, "cells", cells, keys.shape[1]);
    const auto shape = Shape{store.layout.width, store.n_ctx, 1, 1};
    return append(std::move(name), store, {k, v, cells}, shape, DType::F32);
}

NodeId GraphBuilder::kv_load(std::string name, NodeId store, op::KvLoad load) {
    require(store < graph_.nodes.size(), name, "the store is node {}, of {} so far", store,
            graph_.nodes.size());
    if (error_) return 0;
    const auto& found = graph_.nodes[store];
    const auto stored = op_kv_use(found.op);
    require(stored && stored->stores, name, "its source '{}' is {}, not KvStore or a fused QKV",
            found.name, op_name(found.op));
    require(stored && stored->same_regions(*op_kv_use(load)), name,
            "its layer, layout or n_ctx differs from that of '{}'", found.name);
    const auto shape = Shape{load.layout.width, load.n_ctx, 1, 1};
    return append(std::move(name), load, {store}, shape, DType::F32);
}

NodeId GraphBuilder::attention(std::string name, NodeId q, NodeId kv, NodeId positions,
                               NodeId window, op::Attention attention) {
    const auto& query = rows(name, "q", q);
    heads(name, query, attention.n_head, attention.head_dim);
    require(attention.n_head_kv > 0 && attention.n_head % attention.n_head_kv == 0, name,
            "n_head {} is not a multiple of n_head_kv {}", attention.n_head, attention.n_head_kv);
    require(std::isfinite(attention.scale), name, "the scale {} is not finite", attention.scale);
    require(attention.layout.width == attention.n_head_kv * attention.head_dim, name,
            "cells of {} elements, but {} KV heads of {}", attention.layout.width,
            attention.n_head_kv, attention.head_dim);
    require(kv < graph_.nodes.size(), name, "kv is node {}, of {} so far", kv, graph_.nodes.size());
    if (error_) return 0;
    const auto& region = graph_.nodes[kv];
    const auto* load = std::get_if<op::KvLoad>(&region.op);
    require(load != nullptr, name, "kv is '{}', a {}, not KvLoad", region.name, op_name(region.op));
    require(load != nullptr && op_kv_use(*load)->same_regions(*op_kv_use(attention)), name,
            "its layer, layout or n_ctx differs from that of '{}'", region.name);
    const size_t n_tokens = query.shape[1];
    indices(name, "positions", positions, n_tokens);
    const auto& list = source(name, "window", window, DType::I32);
    require(elements(list.shape) == attn_span_elements(n_tokens) ||
                elements(list.shape) == kv_map_elements(n_tokens),
            name, "window is '{}' {}, not {} or {} integers", list.name, shape_text(list.shape),
            attn_span_elements(n_tokens), kv_map_elements(n_tokens));
    return append(std::move(name), attention, {q, kv, positions, window}, query.shape, DType::F32);
}

NodeId GraphBuilder::view(std::string name, NodeId x, size_t offset, Shape shape) {
    const auto dtype = x < graph_.nodes.size() ? graph_.nodes[x].dtype : DType::F32;
    const auto& in = source(name, "x", x, dtype);
    const size_t available = elements(in.shape);
    require(countable(shape) && offset <= available && elements(shape) <= available - offset, name,
            "{} from element {} does not lie inside '{}' {}", shape_text(shape), offset, in.name,
            shape_text(in.shape));
    return append(std::move(name), op::View{.offset = offset}, {x}, shape, dtype);
}

void GraphBuilder::output(NodeId node) {
    if (error_) return;
    const auto& found = source("output", "an output", node, DType::F32);
    for (const NodeId earlier : graph_.outputs)
        require(earlier != node, found.name, "it is an output already");
    if (!error_) graph_.outputs.push_back(node);
}

Result<Graph> GraphBuilder::finish() {
    if (error_) return std::unexpected(*error_);
    if (graph_.outputs.empty()) return fail(Fault::BadInput, "a graph without outputs");
    return std::move(graph_);
}

}  // namespace minfer
