// The decode forms of GraphBuilder: several nodes of the plain chain in one.

#include <cmath>
#include <utility>

#include "graph/builder.h"

namespace minfer {

const Node& GraphBuilder::one_token(std::string_view node, NodeId x, size_t in_dim) {
    const auto& in = rows(node, "x", x);
    require(in.shape[1] == 1, node, "x is '{}' {}, but a fused decode node takes 1 token, not {}",
            in.name, shape_text(in.shape), in.shape[1]);
    require(in.shape[0] == in_dim, node, "x is '{}' {}, but its weights take rows of {}", in.name,
            shape_text(in.shape), in_dim);
    return in;
}

void GraphBuilder::weight_matrices(std::string_view node, const std::vector<std::string>& weights,
                                   DType dtype, size_t in_dim, std::span<const size_t> out_dims) {
    require(weights.size() == 1 || weights.size() == out_dims.size(), node,
            "{} weights, 1 or {} are allowed", weights.size(), out_dims.size());
    if (error_) return;
    for (size_t i = 0; i < out_dims.size(); ++i)
        weight_matrix(node, weights[weights.size() == 1 ? 0 : i], dtype, in_dim, out_dims[i]);
}

Shape GraphBuilder::qkv_projection(std::string_view node, NodeId x, NodeId positions, NodeId cells,
                                   const op::QkvProjection& qkv) {
    constexpr size_t kMaxHeads = size_t{1} << 20, kMaxHeadDim = size_t{1} << 20;
    one_token(node, x, qkv.in_dim);
    require(qkv.n_head > 0 && qkv.n_head_kv > 0 && qkv.head_dim > 0 && qkv.n_head <= kMaxHeads &&
                qkv.head_dim <= kMaxHeadDim,
            node, "{} query and {} KV heads of {}", qkv.n_head, qkv.n_head_kv, qkv.head_dim);
    require(qkv.n_head_kv > 0 && qkv.n_head % qkv.n_head_kv == 0, node,
            "n_head {} is not a multiple of n_head_kv {}", qkv.n_head, qkv.n_head_kv);
    rotation(node, qkv.head_dim, qkv.freq_base, qkv.freq_scale);
    const size_t out_dims[] = {qkv.q_width(), qkv.kv_width(), qkv.kv_width()};
    weight_matrices(node, qkv.weights, qkv.dtype, qkv.in_dim, out_dims);
    kv_region(node, qkv.layout, qkv.n_ctx);
    require(qkv.layout.width == qkv.kv_width(), node, "cells of {} elements, but {} KV heads of {}",
            qkv.layout.width, qkv.n_head_kv, qkv.head_dim);
    indices(node, "positions", positions, 1);
    indices(node, "cells", cells, 1);
    return {qkv.q_width() + 2 * qkv.kv_width(), 1, 1, 1};
}

NodeId GraphBuilder::fused_qkv(std::string name, NodeId x, NodeId positions, NodeId cells,
                               op::FusedQkv fused) {
    const auto shape = qkv_projection(name, x, positions, cells, fused.qkv);
    for (const auto& bias : fused.biases) require(!bias.empty(), name, "a bias has no name");
    return append(std::move(name), std::move(fused), {x, positions, cells}, shape, DType::F32);
}

NodeId GraphBuilder::fused_qkv_norm(std::string name, NodeId x, NodeId positions, NodeId cells,
                                    op::FusedQkvNorm fused) {
    const auto shape = qkv_projection(name, x, positions, cells, fused.qkv);
    norm(name, fused.q_norm, fused.eps);
    norm(name, fused.k_norm, fused.eps);
    return append(std::move(name), std::move(fused), {x, positions, cells}, shape, DType::F32);
}

NodeId GraphBuilder::fused_ffn(std::string name, NodeId x, op::FusedFfn fused) {
    one_token(name, x, fused.in_dim);
    const size_t out_dims[] = {fused.width, fused.width};
    weight_matrices(name, fused.weights, fused.dtype, fused.in_dim, out_dims);
    require(fused.width <= SIZE_MAX / 2, name, "a width of {}", fused.width);
    const auto shape = Shape{2 * fused.width, 1, 1, 1};
    return append(std::move(name), std::move(fused), {x}, shape, DType::F32);
}

}  // namespace minfer
