#include "backend/metal/attention_decode.h"

#include <algorithm>

#include "backend/metal/attention.h"
#include "backend/metal/context.h"

namespace minfer::metal {
namespace {

constexpr size_t kMostChunks = 16;
static_assert(kMaxAttentionChunks == kDecodeMaxChunks);

DecodeAttention::Variant variant(CellType cells, size_t head_dim, uint32_t heads) {
    const size_t holds = head_dim <= 64 ? 64 : head_dim <= 128 ? 128 : 256;
    return {.cells = cells, .head_dim = holds, .heads = heads};
}

std::string kernel_name(const DecodeAttention::Variant& variant) {
    const auto heads = variant.heads == 1 ? "" : fmt::format("_x{}", variant.heads);
    return fmt::format("attention_decode_{}{}_{}", variant.head_dim, heads, name(variant.cells));
}

uint32_t query_heads_together(const AttentionShape& shape, size_t n_cells,
                              const AttentionOptions& options) {
    if (n_cells < options.share_kv_from) return 1;
    const auto group = shape.n_head / shape.n_head_kv;
    return group >= 3 ? 4 : static_cast<uint32_t>(group);
}

Result<Launch> plan_combine(size_t n_head) {
    return Launch{.groups = {.x = MINFER_TRY(to_u32("query heads", n_head))},
                  .threads = {.x = kSimdWidth}};
}

AttentionShape shape_of(const AttentionCall& call) {
    return {.n_tokens = call.n_tokens,
            .n_head = call.n_head,
            .n_head_kv = call.n_head_kv,
            .head_dim = call.head_dim,
            .n_ctx = call.n_ctx,
            .cells = call.cells};
}

// `most` is the plan for n_ctx cells: no other one has more chunks.
Result<size_t> build_combine(Device& device, DecodeAttention& kernels, const AttentionShape& shape,
                             const DecodePlan& most) {
    MINFER_TRY(kernels.combine.build(device, {}, "attention_combine", most.combine));
    return most.record_floats(shape.n_head, shape.head_dim) * sizeof(float);
}

Result<> run_plan(Context& context, const AttentionCall& call, const DecodePlan& plan,
                  const Pipeline& chunks) {
    if (call.n_tokens != 1 || call.window_kind != kWindowCausal)
        return fail(Fault::BadInput, "{} tokens, kernels for one causal token were chosen",
                    call.n_tokens);
    const auto records = MINFER_TRY(
        scratch_part(call, 0, plan.record_floats(call.n_head, call.head_dim) * sizeof(float)));
    const auto args = AttentionDecodeArgs{
        .n_cells = MINFER_TRY(to_u32("cells", call.end_cell)),
        .n_chunks = plan.n_chunks,
        .group = MINFER_TRY(to_u32("heads", call.group())),
        .parts = plan.parts,
        .head_dim = MINFER_TRY(to_u32("elements of a head", call.head_dim)),
        .cell_bytes = MINFER_TRY(to_u32("bytes of a cell", call.cell_bytes)),
        .cell_width = MINFER_TRY(to_u32("elements of a cell", call.cell_width())),
        .scale = call.scale};
    const auto* const combine =
        MINFER_TRY(context.kernels.attention.decode.combine.find(std::monostate()));
    MINFER_TRY(context.dispatch(chunks, plan.chunks, {call.q, call.k, call.v, records}, args));
    return context.dispatch(*combine, plan.combine, {records, call.out}, args);
}

}  // namespace

uint32_t decode_chunks(size_t n_cells, const AttentionOptions& options) {
    if (options.chunks) return *options.chunks;
    const auto steps = ceil_div(n_cells, size_t{kDecodeStepKeys});
    return static_cast<uint32_t>(std::clamp(steps, size_t{1}, kMostChunks));
}

Result<DecodePlan> plan_decode_flash(const AttentionShape& shape, size_t n_cells,
                                     const AttentionOptions& options) {
    auto plan = DecodePlan{.heads = query_heads_together(shape, n_cells, options),
                           .n_chunks = decode_chunks(n_cells, options)};
    const auto group =
        MINFER_TRY(to_u32("query heads of a KV head", shape.n_head / shape.n_head_kv));
    plan.parts = ceil_div(group, plan.heads);
    // parts * n_chunks threadgroups instead of group * n_chunks. What was asked for is not changed.
    if (!options.chunks) plan.n_chunks *= ceil_div(group, plan.parts);
    plan.chunks = {.groups = {.x = 1,
                              .y = MINFER_TRY(to_u32("query heads", shape.n_head_kv * plan.parts)),
                              .z = plan.n_chunks},
                   .threads = {.x = kSimdWidth}};
    plan.combine = MINFER_TRY(plan_combine(shape.n_head));
    return plan;
}

Result<DecodePlan> plan_decode_split(const AttentionShape& shape, size_t n_cells,
                                     const AttentionOptions& options) {
    const auto tiles = MINFER_TRY(plan_classic(1, shape.n_head, shape.n_head_kv));
    auto plan = DecodePlan{.parts = tiles.groups.z, .n_chunks = decode_chunks(n_cells, options)};
    plan.chunks = tiles;
    plan.chunks.groups = {.x = 1,
                          .y = MINFER_TRY(to_u32("query heads", shape.n_head_kv * plan.parts)),
                          .z = plan.n_chunks};
    plan.combine = MINFER_TRY(plan_combine(shape.n_head));
    return plan;
}

Result<size_t> DecodeAttention::prepare_flash(Device& device, const AttentionShape& shape,
                                              const AttentionOptions& options) {
    const auto few = MINFER_TRY(plan_decode_flash(shape, 1, options));
    const auto most = MINFER_TRY(plan_decode_flash(shape, shape.n_ctx, options));
    for (const auto& plan : {few, most}) {
        const auto kernel = variant(shape.cells, shape.head_dim, plan.heads);
        MINFER_TRY(flash.build(device, kernel, kernel_name(kernel), plan.chunks));
    }
    return build_combine(device, *this, shape, most);
}

Result<size_t> DecodeAttention::prepare_split(Device& device, const AttentionShape& shape,
                                              const AttentionOptions& options) {
    const auto most = MINFER_TRY(plan_decode_split(shape, shape.n_ctx, options));
    MINFER_TRY(split.build(device, shape.cells,
                           fmt::format("attention_split_{}", name(shape.cells)), most.chunks));
    return build_combine(device, *this, shape, most);
}

Result<> run_decode_flash(Context& context, const AttentionCall& call) {
    const auto plan =
        MINFER_TRY(plan_decode_flash(shape_of(call), call.end_cell, context.options.attention));
    const auto* const chunks = MINFER_TRY(context.kernels.attention.decode.flash.find(
        variant(call.cells, call.head_dim, plan.heads)));
    return run_plan(context, call, plan, *chunks);
}

Result<> run_decode_split(Context& context, const AttentionCall& call) {
    const auto plan =
        MINFER_TRY(plan_decode_split(shape_of(call), call.end_cell, context.options.attention));
    const auto* const chunks = MINFER_TRY(context.kernels.attention.decode.split.find(call.cells));
    return run_plan(context, call, plan, *chunks);
}

}  // namespace minfer::metal
