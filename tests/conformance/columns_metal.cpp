// The Metal columns: the backend as it comes, and every switch that takes other kernels.

#include "backend/metal/metal_backend.h"
#include "conformance/columns.h"
#include "support/classic_attention.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

// Heads that its kernels load as vectors of four; others are refused, which a test of theirs holds.
bool has_kernel(const Row& row) {
    const auto* const attention = std::get_if<op::Attention>(&row.op);
    return attention == nullptr || attention->head_dim % 4 == 0;
}

Column metal_column(std::string name, MetalOptions options) {
    options.submit_bound_seconds = 120;  // real shapes, checked, on a machine that is busy
    return {.name = std::move(name),
            .make = [options]() -> Result<std::unique_ptr<Backend>> {
                static SoftwareMetal device;  // checks on, one for all
                return MINFER_TRY(make_metal_backend(options));
            },
            .half_tiles =
                [options](const op::MatMul& matmul, size_t n_tokens) {
                    const bool of_halves =
                        matmul.dtype == DType::F16
                            ? options.float_gemm
                            : matmul.dtype != DType::F32 && matmul.dtype != DType::BF16;
                    const bool few_tiled =
                        !options.multi_column && n_tokens >= 2 && matmul.out_dim >= 2048;
                    const bool tiled = few_tiled || n_tokens >= 9;
                    return options.gemm && !options.gemm_f32_tiles && of_halves && tiled;
                },
            .changes = has_kernel};
}

Column varied(Column column, std::function<bool(const Row&)> changes) {
    column.changes = std::move(changes);
    return column;
}

bool is_matmul(const Row& row) { return std::holds_alternative<op::MatMul>(row.op); }
bool is_tiled(const Row& row) { return is_matmul(row) && row.tokens() >= 9; }
bool has_few_rows(const Row& row) {
    return is_matmul(row) && row.tokens() >= 2 && row.tokens() <= 8;
}
bool of_floats(const Row& row) {
    return is_matmul(row) && info(std::get<op::MatMul>(row.op).dtype).block_values == 1;
}
// Attention of several tokens.
bool has_tiles(const Row& row) {
    return std::holds_alternative<op::Attention>(row.op) && row.tokens() > 1 && has_kernel(row);
}
// Causal attention of several tokens by what takes the tiles' place.
bool has_three_passes(const Row& row) {
    const auto* const attention = std::get_if<op::Attention>(&row.op);
    return attention != nullptr && !attention->explicit_span && row.tokens() > 1 &&
           (attention->head_dim == 64 || attention->head_dim == 128);
}
bool has_q8_0_cells(const Row& row) {
    const auto use = op_kv_use(row.op);
    return use && use->layout.format == KvFormat::Q8_0;
}
// Attention of one token over its own cells.
bool is_decode(const Row& row) {
    if (!has_kernel(row)) return false;
    const auto* const attention = std::get_if<op::Attention>(&row.op);
    return attention != nullptr && !attention->explicit_span && row.tokens() == 1;
}
// Attention over heads that tiles and chunks run beyond the specified sizes.
bool has_uncommon_heads(const Row& row) {
    const auto* const attention = std::get_if<op::Attention>(&row.op);
    return attention != nullptr && (attention->head_dim == 80 || attention->head_dim == 96 ||
                                    attention->head_dim == 112 || attention->head_dim == 256);
}
bool is_norm(const Row& row) {
    return std::holds_alternative<op::RmsNorm>(row.op) ||
           std::holds_alternative<op::QkNorm>(row.op) ||
           std::holds_alternative<op::FusedQkvNorm>(row.op);
}

}  // namespace

std::vector<Column> metal_columns(const std::function<void(std::string_view)>& trace_labels) {
    const auto column = [&](std::string name, MetalOptions options) {
        options.trace_labels = trace_labels;
        return metal_column(std::move(name), std::move(options));
    };
    // Every operand in memory of its own: reaching over its end is out of bounds.
    auto copied = column("metal_copied", {.copy_weights = true});
    copied.placement = Placement::Exact;
    return {
        column("metal", {}),
        std::move(copied),
        varied(column("metal_f32_tiles", {.gemm_f32_tiles = true}), is_tiled),
        varied(column("metal_no_multi_column", {.multi_column = false}), has_few_rows),
        varied(column("metal_no_float_gemm", {.float_gemm = false}),
               [](const Row& row) { return of_floats(row) && is_tiled(row); }),
        varied(column("metal_specified_tiers", {.multi_column = false, .float_gemm = false}),
               [](const Row& row) { return of_floats(row) && has_few_rows(row); }),
        varied(column("metal_no_gemm", {.gemm = false}), is_tiled),
        varied(
            column("metal_every_tile", {.attention = {.early_stop = false, .skip_tiles = false}}),
            has_tiles),
        varied(column("metal_three_pass", {.attention = {.prefill_flash = false}}),
               has_three_passes),
        varied(column("metal_split", {.attention = {.flash = false}}), is_decode),
        varied(column("metal_classic", {.attention = kClassicAttention}),
               [](const Row& row) { return is_decode(row) || has_tiles(row); }),
        varied(column("metal_shared_kv", {.attention = {.share_kv_from = 1}}), is_decode),
        varied(column("metal_shared_q8_0_blocks",
                      {.attention = {.split_blocks = false, .share_kv_from = 1}}),
               [](const Row& row) { return is_decode(row) && has_q8_0_cells(row); }),
        varied(column("metal_staged_decode", {.attention = {.stage_packed = true}}),
               [](const Row& row) { return is_decode(row) && has_q8_0_cells(row); }),
        varied(column("metal_common_heads", {.attention = {.any_head_size = false}}),
               has_uncommon_heads),
        varied(column("metal_seven_chunks", {.attention = {.chunks = 7}}), is_decode),
        varied(column("metal_narrow_norm", {.rms_norm_256 = false}), is_norm),
        varied(column("metal_q8_0_blocks", {.attention = {.split_blocks = false}}), has_q8_0_cells),
    };
}

}  // namespace minfer::test
