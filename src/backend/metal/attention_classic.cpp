#include "backend/metal/attention_classic.h"

#include "backend/metal/attention.h"
#include "backend/metal/context.h"

namespace minfer::metal {
namespace {

bool is_wide(size_t head_dim) { return head_dim > 128; }

}  // namespace

Result<> ClassicAttention::prepare(Device& device, const AttentionShape& shape) {
    const auto variant = Variant{shape.cells, metal::is_wide(shape.head_dim)};
    const auto kernel =
        fmt::format("attention{}_{}", variant.is_wide ? "_wide" : "", name(shape.cells));
    const auto launch = MINFER_TRY(plan_classic(shape.n_tokens, shape.n_head, shape.n_head_kv));
    return pipelines.build(device, variant, kernel, launch);
}

Result<Launch> plan_classic(size_t n_tokens, size_t n_head, size_t n_head_kv) {
    const auto group = MINFER_TRY(to_u32("query heads of a KV head", n_head / n_head_kv));
    const auto parts = ceil_div(group, uint32_t{kAttentionMaxSimdGroups});
    const auto simdgroups = ceil_div(group, parts);
    const auto floats = kTileKeys * kTileStride + kTileKeys + simdgroups * kTileKeys;
    return Launch{.groups = {.x = MINFER_TRY(to_u32("tokens", n_tokens)),
                             .y = MINFER_TRY(to_u32("KV heads", n_head_kv)),
                             .z = parts},
                  .threads = {.x = simdgroups * kSimdWidth},
                  .shared_bytes = floats * static_cast<uint32_t>(sizeof(float))};
}

Result<> run_classic(Context& context, const AttentionCall& call) {
    const auto launch = MINFER_TRY(plan_classic(call.n_tokens, call.n_head, call.n_head_kv));
    const auto args =
        AttentionArgs{.window = call.window_kind,
                      .n_tokens = MINFER_TRY(to_u32("tokens", call.n_tokens)),
                      .n_head = MINFER_TRY(to_u32("heads", call.n_head)),
                      .group = MINFER_TRY(to_u32("heads", call.group())),
                      .head_dim = MINFER_TRY(to_u32("elements of a head", call.head_dim)),
                      .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", call.cell_bytes)),
                      .cell_width = MINFER_TRY(to_u32("elements of a cell", call.cell_width())),
                      .scale = call.scale};
    const auto* const pipeline = MINFER_TRY(
        context.kernels.attention.classic.pipelines.find({call.cells, is_wide(call.head_dim)}));
    return context.dispatch(*pipeline, launch, {call.q, call.k, call.v, call.window, call.out},
                            args);
}

}  // namespace minfer::metal
