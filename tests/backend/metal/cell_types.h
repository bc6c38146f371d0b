#pragma once
// Backends that keep their cells in each of the ways there are.

#include <utility>

#include "backend/metal/cells.h"

namespace minfer::test {

inline KvFormat format_of(metal::CellType type) {
    switch (type) {
        case metal::CellType::F32:
            return KvFormat::F32;
        case metal::CellType::F16:
            return KvFormat::F16;
        case metal::CellType::Q8_0:
        case metal::CellType::Q8_0Split:
            return KvFormat::Q8_0;
    }
    std::unreachable();
}

// Under these, cells of format_of(type) are of this type.
inline MetalOptions with_cells(metal::CellType type, MetalOptions options = {}) {
    options.attention.split_blocks = type == metal::CellType::Q8_0Split;
    return options;
}

}  // namespace minfer::test
