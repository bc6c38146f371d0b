#pragma once
// Cells of every format: written and read by plain loops from the definition of the formats,
// sharing no code with a backend, and a layer that is filled with them.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "graph/op.h"
#include "support/op_rig.h"
#include "support/random_data.h"
#include "tensor/half.h"

namespace minfer::test {

constexpr KvFormat kKvFormats[] = {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0};

// An f16 scale and 32 int8: amax / 127, and values times its inverse, ties to even; zeros for a
// scale that is zero as a half. A value that is not finite makes the scale NaN.
inline void encode_block(const float* values, std::byte* block) {
    float largest = 0;
    bool finite = true;
    for (size_t i = 0; i < 32; ++i) {
        finite = finite && std::isfinite(values[i]);
        largest = std::max(largest, std::fabs(values[i]));
    }
    const float scale = largest / 127, inverse = 1 / scale;
    const uint16_t half = finite ? f32_to_f16(scale) : 0x7e00;
    std::memcpy(block, &half, sizeof half);
    for (size_t i = 0; i < 32; ++i) {
        const float quant = finite && half != 0 ? std::nearbyint(values[i] * inverse) : 0;
        block[2 + i] = static_cast<std::byte>(static_cast<int8_t>(quant));
    }
}

// Whole cells, row after row, as KvLayout's comment has them; padding is zero.
inline std::vector<std::byte> encoded_cells(const KvLayout& layout, std::span<const float> rows) {
    const auto width = layout.width, n_rows = rows.size() / width;
    auto cells = std::vector<std::byte>(n_rows * layout.row_bytes);
    for (size_t row = 0; row < n_rows; ++row) {
        const auto* const values = rows.data() + row * width;
        auto* const cell = cells.data() + row * layout.row_bytes;
        if (layout.format == KvFormat::F32) std::memcpy(cell, values, width * sizeof(float));
        for (size_t i = 0; layout.format == KvFormat::F16 && i < width; ++i) {
            const uint16_t half = f32_to_f16(values[i]);
            std::memcpy(cell + i * sizeof half, &half, sizeof half);
        }
        for (size_t b = 0; layout.format == KvFormat::Q8_0 && b < width / 32; ++b)
            encode_block(values + b * 32, cell + b * 34);
    }
    return cells;
}

// What whole cells stand for. Exact: an f16 scale times an int8 is a float.
inline std::vector<float> decoded_cells(const KvLayout& layout, std::span<const std::byte> cells) {
    const auto width = layout.width, n_rows = cells.size() / layout.row_bytes;
    auto rows = std::vector<float>(n_rows * width);
    const auto half_at = [](const std::byte* at) {
        uint16_t half = 0;
        std::memcpy(&half, at, sizeof half);
        return f16_to_f32(half);
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        const auto* const cell = cells.data() + i / width * layout.row_bytes;
        const auto element = i % width;
        switch (layout.format) {
            case KvFormat::F32:
                std::memcpy(&rows[i], cell + element * sizeof(float), sizeof(float));
                break;
            case KvFormat::F16:
                rows[i] = half_at(cell + element * 2);
                break;
            case KvFormat::Q8_0: {
                const auto* const block = cell + element / 32 * 34;
                const auto quant = static_cast<int8_t>(block[2 + element % 32]);
                rows[i] = half_at(block) * static_cast<float>(quant);
                break;
            }
        }
    }
    return rows;
}

// A new region that holds these canonical cells, in whatever order the backend keeps them; and what
// one holds now, as canonical cells.
inline BufRef write_cells(OpRig& rig, const KvLayout& layout, std::span<const std::byte> cells) {
    const auto region = rig.buffer(cells.size());
    const auto done = rig.backend().write_cells(region, layout, 0, cells);
    EXPECT_TRUE(done) << done.error().what;
    return region;
}
inline std::vector<std::byte> read_cells(OpRig& rig, const KvLayout& layout, BufRef region) {
    auto cells = std::vector<std::byte>(region.bytes);
    const auto done = rig.backend().read_cells(region, layout, 0, cells);
    EXPECT_TRUE(done) << done.error().what;
    return cells;
}

// One layer's K and V with something in every cell, on any backend and in whatever order it keeps
// cells. Rows are n_ctx * layout.width floats each.
struct KvCells {
    KvCells(OpRig& owner, const KvLayout& cell_layout, std::span<const float> k_rows,
            std::span<const float> v_rows)
        : rig(owner),
          layout(cell_layout),
          k_bytes(encoded_cells(layout, k_rows)),
          v_bytes(encoded_cells(layout, v_rows)),
          k(decoded_cells(layout, k_bytes)),
          v(decoded_cells(layout, v_bytes)),
          kv{write_cells(rig, layout, k_bytes), write_cells(rig, layout, v_bytes)} {}
    // Standard normal values.
    KvCells(OpRig& owner, const KvLayout& cell_layout, size_t n_ctx, uint32_t seed = 21)
        : KvCells(owner, cell_layout, random_floats(n_ctx * cell_layout.width, seed),
                  random_floats(n_ctx * cell_layout.width, seed + 1)) {}

    std::vector<std::byte> read(BufRef region) const { return read_cells(rig, layout, region); }
    void write(BufRef region, std::span<const std::byte> cells) const {
        const auto done = rig.backend().write_cells(region, layout, 0, cells);
        EXPECT_TRUE(done) << done.error().what;
    }

    OpRig& rig;
    KvLayout layout;
    std::vector<std::byte> k_bytes, v_bytes;  // canonical
    std::vector<float> k, v;                  // what they stand for
    KvPair kv;
};

}  // namespace minfer::test
