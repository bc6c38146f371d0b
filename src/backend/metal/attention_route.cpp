#include "backend/metal/attention_route.h"

#include "backend/metal/attention_three_pass.h"

namespace minfer::metal {
namespace {

bool has_tiles(size_t head_dim, const AttentionOptions& options) {
    if (head_dim == 64 || head_dim == 128) return true;
    const bool is_extra = head_dim == 80 || head_dim == 96 || head_dim == 112 || head_dim == 256;
    return options.any_head_size && is_extra;
}

AttentionRoute packed_route(const AttentionShape& shape, bool tiles,
                            const AttentionOptions& options) {
    using enum AttentionFamily;
    const auto n_tokens = shape.n_tokens;
    if (shape.explicit_span)
        return n_tokens > 1 && tiles && options.window_flash ? AttentionRoute{WindowFlash, true}
                                                             : AttentionRoute{Classic};
    if (n_tokens == 1 && tiles && options.flash) return {DecodeFlash, options.stage_packed};
    if (n_tokens > 1 && tiles && options.prefill_flash) return {PrefillFlash, true};
    return {Classic};
}

}  // namespace

AttentionRoute attention_route(const AttentionShape& shape, const AttentionOptions& options) {
    using enum AttentionFamily;
    const auto head_dim = shape.head_dim, n_tokens = shape.n_tokens;
    const bool tiles = has_tiles(head_dim, options);
    if (is_packed(shape.cells)) return packed_route(shape, tiles, options);
    if (shape.explicit_span)
        return {n_tokens > 1 && tiles && options.window_flash ? WindowFlash : Classic};
    // Both older families exist for these sizes alone.
    const bool is_common = head_dim == 64 || head_dim == 128;
    if (n_tokens == 1) {
        if (tiles && options.flash) return {DecodeFlash};
        return {is_common && options.split ? DecodeSplit : Classic};
    }
    if (tiles && options.prefill_flash) return {PrefillFlash};
    const bool has_passes = shape.cells == CellType::F32 && shape.n_ctx <= kThreePassCells;
    return {is_common && options.three_pass && has_passes ? ThreePass : Classic};
}

}  // namespace minfer::metal
