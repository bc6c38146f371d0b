#pragma once
// How the cells of a layer lie in its regions on Metal, and the kernels' names for it.

#include <span>
#include <string_view>

#include "backend/metal/metal_backend.h"

namespace minfer::metal {

enum class CellType : uint8_t {
    F32,
    F16,
    Q8_0,       // as KvLayout has it: blocks of an f16 scale and 32 int8
    Q8_0Split,  // the same bytes of a cell, the int8 of all blocks first, then the scales
};
constexpr CellType kCellTypes[] = {CellType::F32, CellType::F16, CellType::Q8_0,
                                   CellType::Q8_0Split};

CellType cell_type(KvFormat format, const AttentionOptions& options);
std::string_view name(CellType type);  // "f32", "f16", "q8_0", "q8_0_split": how kernels are named
inline bool is_packed(CellType type) { return type >= CellType::Q8_0; }

// Whole q8_0 cells from the order of KvLayout to the split one, in place, and back.
void split_blocks(const KvLayout& layout, std::span<std::byte> cells);
void join_blocks(const KvLayout& layout, std::span<std::byte> cells);

}  // namespace minfer::metal
