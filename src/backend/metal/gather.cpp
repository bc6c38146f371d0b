#include "backend/metal/gather.h"

#include "backend/metal/kernels/get_rows.h"
#include "backend/metal/ops.h"

namespace minfer::metal {
namespace {

constexpr uint32_t kThreads = 256;

// The numbers of rows, each below `n_rows`; `what` has them.
Result<> check_ids(std::span<const int32_t> ids, size_t n_rows, std::string_view what) {
    for (size_t t = 0; t < ids.size(); ++t)
        if (ids[t] < 0 || static_cast<size_t>(ids[t]) >= n_rows)
            return fail(Fault::BadInput, "id {} at position {}: {} has {} rows", ids[t], t, what,
                        n_rows);
    return {};
}

}  // namespace

Result<GatherKernels> GatherKernels::build(const Device& device) {
    GatherKernels kernels;
    kernels.rows = MINFER_TRY(device.pipeline("gather_rows_f32", kThreads));
    return kernels;
}

Result<> GatherKernels::build_for(const Device& device, DType dtype) {
    if (embed.contains(dtype)) return {};
    const auto kernel = MINFER_TRY(weight_kernel_name("get_rows", dtype));
    embed.emplace(dtype, MINFER_TRY(device.pipeline(kernel, kThreads)));
    return {};
}

Result<Launch> plan_gather(size_t n_out, size_t pieces) {
    if (pieces != 0 && n_out > kCountLimit / pieces)
        return fail(Fault::Unsupported, "{} rows of {} threads each exceed {} threads", n_out,
                    pieces, kCountLimit);
    const auto threads = MINFER_TRY(to_u32("threads", n_out * pieces));
    return Launch{.groups = {.x = ceil_div(threads, kThreads)}, .threads = {.x = kThreads}};
}

Result<size_t> prepare(Context& context, const Node&, const op::Embed& embed) {
    MINFER_TRY(context.prepare_matrix(embed.dtype));
    return 0;
}

Result<> run(Context& context, const Call& call, const op::Embed& embed) {
    const auto block = info(embed.dtype).block_values;
    if (embed.width == 0 || embed.width % block != 0)
        return fail(Fault::Unsupported, "rows of {} elements, {} needs multiples of {}",
                    embed.width, name(embed.dtype), block);
    const auto table =
        MINFER_TRY(context.matrix_weight(call, 0, embed.dtype, embed.width, embed.vocab));
    const auto found = context.kernels.gather.embed.find(embed.dtype);
    if (found == context.kernels.gather.embed.end())
        return fail(Fault::Unsupported, "no kernel gathers rows of {}", name(embed.dtype));

    const auto n_tokens = elements(call.node->shape) / embed.width;
    const auto ids = MINFER_TRY(context.words_in(call, 0, n_tokens));
    const auto out = MINFER_TRY(context.words_out(call, n_tokens * embed.width));
    const auto numbers = MINFER_TRY(context.ints_in(call, 0, n_tokens));
    MINFER_TRY(
        check_ids(numbers, embed.vocab, fmt::format("the vocabulary of '{}'", embed.weight)));
    const auto launch = MINFER_TRY(plan_gather(n_tokens, embed_pieces(embed.width)));
    const auto args = GetRowsArgs{
        .width = MINFER_TRY(to_u32("elements of a row", embed.width)),
        .row_bytes = MINFER_TRY(to_u32("bytes of a row", row_bytes(embed.dtype, embed.width))),
        .n_rows = MINFER_TRY(to_u32("rows of the vocabulary", embed.vocab)),
        .n_out = MINFER_TRY(to_u32("tokens", n_tokens)),
        .pieces = MINFER_TRY(to_u32("threads of a row", embed_pieces(embed.width)))};
    return context.dispatch(found->second, launch, {table, ids, out}, args);
}

Result<> run(Context& context, const Call& call, const op::GatherRows&) {
    const auto width = call.node->shape[0];
    if (width == 0) return fail(Fault::BadInput, "rows of 0 elements");
    const auto n_out = elements(call.node->shape) / width;
    if (call.in.empty() || call.in[0].bytes % (width * sizeof(float)) != 0)
        return fail(Fault::BadInput, "source 0 has {} bytes, not whole rows of {} elements",
                    call.in.empty() ? 0 : call.in[0].bytes, width);
    const auto n_rows = call.in[0].bytes / (width * sizeof(float));
    const auto x = MINFER_TRY(context.words_in(call, 0, n_rows * width));
    const auto ids = MINFER_TRY(context.words_in(call, 1, n_out));
    const auto out = MINFER_TRY(context.words_out(call, n_out * width));
    const auto numbers = MINFER_TRY(context.ints_in(call, 1, n_out));
    MINFER_TRY(check_ids(numbers, n_rows, "source 0"));
    const auto launch = MINFER_TRY(plan_gather(n_out, gather_pieces(width)));
    const auto args =
        GetRowsArgs{.width = MINFER_TRY(to_u32("elements of a row", width)),
                    .row_bytes = MINFER_TRY(to_u32("bytes of a row", width * 4)),
                    .n_rows = MINFER_TRY(to_u32("rows", n_rows)),
                    .n_out = MINFER_TRY(to_u32("rows", n_out)),
                    .pieces = MINFER_TRY(to_u32("threads of a row", gather_pieces(width)))};
    return context.dispatch(context.kernels.gather.rows, launch, {x, ids, out}, args);
}

}  // namespace minfer::metal
