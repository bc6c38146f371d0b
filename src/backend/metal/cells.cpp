#include "backend/metal/cells.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace minfer::metal {
namespace {

constexpr size_t kBlockValues = 32, kScaleBytes = 2, kBlockBytes = kScaleBytes + kBlockValues;

// For each block of each cell: `move` is given where its scale and its quants are in the order of
// blocks and in the split one.
template <class Move>
void for_blocks(const KvLayout& layout, std::span<std::byte> cells, Move move) {
    auto blocks = std::vector<std::byte>(layout.row_bytes);
    for (; !cells.empty(); cells = cells.subspan(layout.row_bytes)) {
        std::ranges::copy(cells.first(layout.row_bytes), blocks.begin());
        for (size_t b = 0; b < layout.width / kBlockValues; ++b) {
            const auto joined = b * kBlockBytes;
            move(blocks, cells, joined, layout.width + b * kScaleBytes, kScaleBytes);
            move(blocks, cells, joined + kScaleBytes, b * kBlockValues, kBlockValues);
        }
    }
}

}  // namespace

CellType cell_type(KvFormat format, const AttentionOptions& options) {
    switch (format) {
        case KvFormat::F32:
            return CellType::F32;
        case KvFormat::F16:
            return CellType::F16;
        case KvFormat::Q8_0:
            return options.split_blocks ? CellType::Q8_0Split : CellType::Q8_0;
    }
    std::unreachable();
}

std::string_view name(CellType type) {
    switch (type) {
        case CellType::F32:
            return "f32";
        case CellType::F16:
            return "f16";
        case CellType::Q8_0:
            return "q8_0";
        case CellType::Q8_0Split:
            return "q8_0_split";
    }
    std::unreachable();
}

void split_blocks(const KvLayout& layout, std::span<std::byte> cells) {
    for_blocks(layout, cells, [](const auto& from, auto to, size_t joined, size_t split, size_t n) {
        std::copy_n(&from[joined], n, &to[split]);
    });
}

void join_blocks(const KvLayout& layout, std::span<std::byte> cells) {
    for_blocks(layout, cells, [](const auto& from, auto to, size_t joined, size_t split, size_t n) {
        std::copy_n(&from[split], n, &to[joined]);
    });
}

}  // namespace minfer::metal
