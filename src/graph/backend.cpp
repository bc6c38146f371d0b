#include "graph/backend.h"

#include <vector>

namespace minfer {

Result<size_t> stored_tokens(const Call& call, size_t width) {
    // The logical length: the memory behind it may be that of a longer batch.
    const auto count = call.in.empty() ? 0 : call.in[0].bytes / sizeof(float);
    if (width == 0 || count == 0 || count % width != 0)
        return fail(Fault::BadInput, "{} elements of K are not rows of {}", count, width);
    return count / width;
}

Result<BufRef> cells_of(BufRef region, const KvLayout& layout, size_t first_row, size_t bytes) {
    const auto held = layout.row_bytes ? region.bytes / layout.row_bytes : 0;
    const auto rows = layout.row_bytes ? bytes / layout.row_bytes : 0;
    if (layout.row_bytes == 0 || bytes != rows * layout.row_bytes || first_row > held ||
        rows > held - first_row)
        return fail(Fault::BadInput, "{} bytes from cell {} on are not among {} cells of {} bytes",
                    bytes, first_row, held, layout.row_bytes);
    region.offset += first_row * layout.row_bytes;
    region.bytes = bytes;
    return region;
}

Result<> Backend::read_cells(BufRef region, const KvLayout& layout, size_t first_row,
                             std::span<std::byte> to) {
    return read(MINFER_TRY(cells_of(region, layout, first_row, to.size())), to);
}

Result<> Backend::write_cells(BufRef region, const KvLayout& layout, size_t first_row,
                              std::span<const std::byte> from) {
    return write(MINFER_TRY(cells_of(region, layout, first_row, from.size())), from);
}

Result<> Backend::capture(BufRef from, Seen seen) {
    auto bytes = std::vector<std::byte>(from.bytes);
    MINFER_TRY(read(from, bytes));
    seen(bytes);
    return {};
}

}  // namespace minfer
