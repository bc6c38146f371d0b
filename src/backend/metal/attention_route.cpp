#include "backend/metal/attention_route.h"

#include <algorithm>

#include "backend/metal/attention_three_pass.h"

namespace minfer {
namespace metal {
namespace {

struct TileHead {
    size_t size = 0;
    bool is_specified = false;  // else beyond the original rules
};
constexpr TileHead kTileHeads[] = {{64, true}, {80}, {96}, {112}, {128, true}, {256}};

bool has_tiles(size_t head_dim, const AttentionOptions& options) {
    return std::ranges::any_of(kTileHeads, [&](const TileHead& head) {
        return head.size == head_dim && (head.is_specified || options.any_head_size);
    });
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
}  // namespace metal

std::vector<size_t> flash_head_sizes(const AttentionOptions& options) {
    std::vector<size_t> sizes;
    for (const auto& head : metal::kTileHeads)
        if (metal::has_tiles(head.size, options)) sizes.push_back(head.size);
    return sizes;
}

namespace metal {

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

}  // namespace metal
}  // namespace minfer
