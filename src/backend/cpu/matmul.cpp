// Matrix products: activations are brought into the form the weight's kernel wants, then output
// rows are shared out over the threads.

#include <algorithm>

#include "backend/cpu/ops.h"
#include "tensor/dequantize.h"

namespace minfer::cpu {
namespace {

// Dequantised at a time by a worker: enough rows for a register tile.
constexpr size_t kDequantRows = 8;

struct Activations {
    const std::byte* rows;
    size_t stride;  // bytes
};

// The kernel for a weight type. Without one of its own, or in exact mode, rows are dequantised and
// multiplied as F32.
struct Plan {
    const MatKernel* kernel;
    bool dequantize;
};

Plan plan(const Context& context, DType dtype) {
    if (const auto* exact = find_matrix(context.kernels, dtype, ActFormat::F32))
        return {exact, false};
    if (context.activations == CpuActivations::Quantized)
        for (const auto format : {ActFormat::Q8, ActFormat::Q8K})
            if (const auto* fast = find_matrix(context.kernels, dtype, format))
                return {fast, false};
    return {find_matrix(context.kernels, DType::F32, ActFormat::F32), true};
}

Result<Activations> prepare(Context& context, ActFormat format, const float* x, size_t in_dim,
                            size_t n_tokens) {
    if (format == ActFormat::F32)
        return Activations{reinterpret_cast<const std::byte*>(x), in_dim * sizeof(float)};
    const auto stride = (act_row_bytes(format, in_dim) + kAlign - 1) / kAlign * kAlign;
    MINFER_TRY(context.activation_scratch.grow(stride * n_tokens));
    auto* const rows = context.activation_scratch.data();
    const auto quantize =
        format == ActFormat::Q8 ? context.kernels.quantize_q8 : context.kernels.quantize_q8k;
    for_rows(context.threads, n_tokens, in_dim,
             [&](size_t t, int) { quantize(x + t * in_dim, rows + t * stride, in_dim); });
    return Activations{rows, stride};
}

// Rows a worker takes at a time: a few chunks per worker even out their speeds, tile multiples
// keep full tiles, and a chunk is worth more than handing it over (a few microseconds).
size_t chunk_rows(size_t out_dim, size_t products_per_row, int workers) {
    constexpr size_t kWorthwhile = 64 * 1024;  // multiply-adds
    const auto share = out_dim / (static_cast<size_t>(workers) * 8);
    const auto rows = std::max(std::min<size_t>(share, 256), kWorthwhile / products_per_row);
    return std::max<size_t>(rows / 8 * 8, 8);
}

}  // namespace

Result<> run(Context& context, const Call& call, const op::MatMul& matmul) {
    const auto in_dim = matmul.in_dim, out_dim = matmul.out_dim;
    const auto n_tokens = call.node->shape[1] * call.node->shape[2] * call.node->shape[3];
    const auto* const weight = MINFER_TRY(context.weight(call, 0));
    if (weight->dtype != matmul.dtype || weight->shape[0] != in_dim ||
        weight->shape[1] != out_dim || call.node->shape[0] != out_dim)
        return fail(Fault::BadInput, "weight '{}' is {} [{}, {}], {} [{}, {}] is needed",
                    weight->name, name(weight->dtype), weight->shape[0], weight->shape[1],
                    name(matmul.dtype), in_dim, out_dim);
    if (!runs_as_matrix(weight->dtype))
        return fail(Fault::Unsupported, "weight '{}': no kernel for {}", weight->name,
                    name(weight->dtype));
    const float* bias = nullptr;
    if (!matmul.bias.empty()) bias = MINFER_TRY(context.vector_weight(call, 1, out_dim));
    const auto* const x = MINFER_TRY(context.floats_in(call, 0, in_dim * n_tokens));
    auto* const out = MINFER_TRY(context.floats_out(call, out_dim * n_tokens));

    const auto [kernel, dequantize] = plan(context, weight->dtype);
    const auto activations = MINFER_TRY(prepare(context, kernel->activations, x, in_dim, n_tokens));
    if (dequantize) MINFER_TRY(context.grow_worker_scratch(kDequantRows * in_dim * sizeof(float)));

    const auto stride = row_bytes(weight->dtype, in_dim);
    const auto multiply = [&](const std::byte* rows, size_t rows_stride, size_t begin, size_t end) {
        kernel->run({.weight = rows,
                     .weight_stride = rows_stride,
                     .x = activations.rows,
                     .x_stride = activations.stride,
                     .bias = bias,
                     .out = out,
                     .out_stride = out_dim,
                     .in_dim = in_dim,
                     .row_begin = begin,
                     .row_end = end,
                     .n_tokens = n_tokens});
    };
    const auto chunk = chunk_rows(out_dim, in_dim * n_tokens, context.threads.size());
    context.threads.parallel_for(out_dim, chunk, [&](size_t begin, size_t end, int worker) {
        if (!dequantize) return multiply(weight->data.data() + begin * stride, stride, begin, end);
        auto* const f32 = context.worker_memory<float>(worker);
        for (size_t row = begin; row < end; row += kDequantRows) {
            const auto stop = std::min(end, row + kDequantRows);
            for (size_t r = row; r < stop; ++r)
                dequantize_row(weight->dtype, weight->data.data() + r * stride,
                               f32 + (r - row) * in_dim, in_dim);
            multiply(reinterpret_cast<const std::byte*>(f32), in_dim * sizeof(float), row, stop);
        }
    });
    return {};
}

}  // namespace minfer::cpu
