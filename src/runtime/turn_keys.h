#pragma once
// Keys that were rotated for one position and are to stand at a lower one.

#include <cstddef>
#include <span>

#include "graph/op.h"

namespace minfer {

// `cells`: rows of K as Backend::read_cells gives them, of positions `position` + `by` and up;
// turned in place to positions `position` and up. The angle is the difference of the two f32 angles
// that rotating at each position takes, so that the result is what rotating the key at its new
// position would have stored, but for one rounding more of each element (f32, f16) or block (q8_0).
// NMSE against a fresh rotation: f32 1e-11, f16 5e-7, q8_0 2e-4.
void turn_keys_back(std::span<std::byte> cells, const KvLayout& layout, const op::Rope& rope,
                    size_t position, size_t by);

}  // namespace minfer
