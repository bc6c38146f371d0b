#include "model/fusion.h"

#include <algorithm>

namespace minfer {
namespace {

std::string tensor(size_t block, std::string_view part) {
    return fmt::format("blk.{}.{}", block, part);
}

bool has_all(const Model& model, size_t block, std::initializer_list<std::string_view> parts) {
    return std::ranges::all_of(
        parts, [&](std::string_view part) { return model.has_weight(tensor(block, part)); });
}

}  // namespace

FusedWeights qkv_weights(size_t block) {
    return {.parts = {tensor(block, "attn_q.weight"), tensor(block, "attn_k.weight"),
                      tensor(block, "attn_v.weight")},
            .joined = tensor(block, "attn_qkv.weight")};
}

FusedWeights ffn_weights(size_t block) {
    return {.parts = {tensor(block, "ffn_gate.weight"), tensor(block, "ffn_up.weight")},
            .joined = tensor(block, "ffn_gu.weight")};
}

bool can_fuse(const Model& model, const FusedWeights& weights) {
    const auto* const first = model.find_weight(weights.parts.front());
    if (first == nullptr || info(first->dtype).block_values == 1) return false;
    return std::ranges::all_of(weights.parts, [&](const std::string& part) {
        const auto* const weight = model.find_weight(part);
        return weight != nullptr && weight->dtype == first->dtype &&
               weight->shape[0] == first->shape[0];
    });
}

bool can_fuse_qkv(const Model& model, size_t block) {
    if (!can_fuse(model, qkv_weights(block))) return false;
    switch (model.hparams().architecture) {
        case Architecture::Qwen2:
            return has_all(model, block, {"attn_q.bias", "attn_k.bias", "attn_v.bias"});
        case Architecture::Qwen3:
            return has_all(model, block, {"attn_q_norm.weight", "attn_k_norm.weight"});
    }
    std::unreachable();
}

bool can_fuse_ffn(const Model& model, size_t block) {
    return model.hparams().n_ff <= kMaxFusedFfn && can_fuse(model, ffn_weights(block));
}

}  // namespace minfer
