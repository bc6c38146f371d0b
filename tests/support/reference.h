#pragma once
// What every operation is held to: plain loops in double precision over the operands as stored,
// written from the definitions in graph/op.h and sharing no code with any backend.

#include <cstdint>
#include <span>
#include <vector>

#include "graph/op.h"

namespace minfer::test::reference {

using Values = std::vector<double>;
using Cells = std::vector<int32_t>;  // the cells one token sees, in order

Values widened(std::span<const float> values);

Values add(const Values& a, const Values& b);
Values mul(const Values& a, const Values& b);
Values scale(const Values& x, double factor);
Values silu(const Values& x);
Values swiglu(const Values& gate, const Values& up);

// Over each run of `width` elements.
Values softmax(const Values& x, size_t width);
// Over each run of weight.size() elements: the whole row of an RmsNorm, one head of a QkNorm.
Values rms_norm(const Values& x, std::span<const float> weight, double eps);

// weight: `out_dim` rows of `in_dim`, dequantised; bias: out_dim or empty; x: rows of `in_dim`.
Values matmul(std::span<const float> weight, std::span<const float> bias, const Values& x,
              size_t in_dim);

// Row ids[t] of `table`, which has rows of `width`.
Values gather(std::span<const float> table, size_t width, std::span<const int32_t> ids);

// The angle is the f32 product of the position and rope_inv_freq(): what large positions make of
// its rounding is part of the definition.
Values rope(const op::Rope& rope, const Values& x, std::span<const int32_t> positions);

// k and v: the cells of the layer, n_head_kv * head_dim wide. One list of cells for each token; a
// token that sees none gets zeros.
Values attention(const op::Attention& attention, const Values& q, std::span<const float> k,
                 std::span<const float> v, std::span<const Cells> windows);

}  // namespace minfer::test::reference
