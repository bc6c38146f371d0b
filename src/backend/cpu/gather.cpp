// Rows by index: Embed from a weight, GatherRows from an activation.

#include <cstring>

#include "backend/cpu/ops.h"
#include "tensor/dequantize.h"

namespace minfer::cpu {
namespace {

Result<> check_ids(const int32_t* ids, size_t count, size_t rows) {
    for (size_t t = 0; t < count; ++t)
        if (ids[t] < 0 || static_cast<size_t>(ids[t]) >= rows)
            return fail(Fault::BadInput, "index {} at position {}, {} rows exist", ids[t], t, rows);
    return {};
}

}  // namespace

Result<> run(Context& context, const Call& call, const op::Embed& embed) {
    const auto width = call.node->shape[0], count = call.node->shape[1];
    const auto* const weight = MINFER_TRY(context.weight(call, 0));
    if (weight->dtype != embed.dtype || weight->shape[0] != width || embed.width != width ||
        weight->shape[1] != embed.vocab)
        return fail(Fault::BadInput, "weight '{}' is {} [{}, {}], {} [{}, {}] is needed",
                    weight->name, name(weight->dtype), weight->shape[0], weight->shape[1],
                    name(embed.dtype), width, embed.vocab);
    const auto* const ids = MINFER_TRY(context.ints_in(call, 0, count));
    auto* const out = MINFER_TRY(context.floats_out(call, width * count));
    MINFER_TRY(check_ids(ids, count, embed.vocab));
    const auto stride = row_bytes(weight->dtype, width);
    for_rows(context.threads, count, width, [&](size_t t, int) {
        const auto* const row = weight->data.data() + static_cast<size_t>(ids[t]) * stride;
        dequantize_row(weight->dtype, row, out + t * width, width);
    });
    return {};
}

Result<> run(Context& context, const Call& call, const op::GatherRows&) {
    const auto width = call.node->shape[0], count = call.node->shape[1];
    if (width == 0 || count == 0) return {};
    const auto rows = call.in.empty() ? 0 : call.in[0].bytes / sizeof(float) / width;
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, rows * width));
    const auto* const ids = MINFER_TRY(context.ints_in(call, 1, count));
    auto* const out = MINFER_TRY(context.floats_out(call, width * count));
    MINFER_TRY(check_ids(ids, count, rows));
    for (size_t t = 0; t < count; ++t)
        std::memcpy(out + t * width, x + static_cast<size_t>(ids[t]) * width,
                    width * sizeof(float));
    return {};
}

}  // namespace minfer::cpu
