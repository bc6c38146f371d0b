#pragma once
// Every bar the backends are held to, as NMSE against a double-precision reference that reads the
// operands as stored. f32 arithmetic lies one to two orders below each.

#include "graph/op.h"

namespace minfer::test {

constexpr double kSiluBar = 1e-13;    // SiLU, SwiGLU: a few units in the last place
constexpr double kRopeBar = 1e-12;    // the reference rotates by the same f32 angles
constexpr double kNormBar = 1e-10;    // norms and softmax
constexpr double kMatmulBar = 1e-10;  // f32 operands, or operands rounded as the kernel rounds them
// Tiles of half against exact arithmetic: rounding to 11 bits has a mean square error of 4e-8 of
// the operand's own, and there are two operands.
constexpr double kHalfTilesBar = 3e-7;
constexpr double kAttentionBar = 1e-10;
// Activations rounded to 8 bits: the step is largest/127 with largest about 2 (32 values) to 3 (256
// values) standard deviations, and a rounding error has variance step^2 / 12: 2e-5 to 5e-5.
constexpr double kQuantizedActivationBar = 1e-4;

// Whole models: exact mode, and with activations rounded to 8 bits in every product.
constexpr double kLogitsExactBar = 1e-10;
constexpr double kLogitsHalfTilesBar = 1e-5;  // prompts go through tiles of half
constexpr double kLogitsQuantizedActivationBar = 2e-2;
// Against the same model over f32 cells.
constexpr double rounded_cells_bar(KvFormat format) {
    return format == KvFormat::F32 ? 0 : format == KvFormat::F16 ? 2e-6 : 1e-3;
}
// One backend against the other over cells of one format: a key that they compute differently in
// its last bit may be rounded up by one and down by the other.
constexpr double same_cells_bar(KvFormat format) {
    return format == KvFormat::F32 ? kLogitsExactBar : format == KvFormat::F16 ? 1e-8 : 1e-5;
}

}  // namespace minfer::test
