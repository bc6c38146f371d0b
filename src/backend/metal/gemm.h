#pragma once
// The matrix-matrix family: prompts, and whatever else has more tokens than the matrix-vector
// kernels are made for.

#include <array>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/kernels/mul_mm.h"
#include "backend/metal/metal_backend.h"
#include "tensor/dtype.h"

namespace minfer::metal {

struct Context;
struct Matrices;

// What operands are rounded to before they are multiplied; products are summed in f32.
enum class GemmTile : uint8_t { Half, Float };

// Half for F16 and every quantised type, Float for BF16 and F32, and for all types with
// `options.gemm_f32_tiles`.
GemmTile gemm_tile(DType dtype, const MetalOptions& options);

// Of one weight type, in the tile that the options say.
struct GemmKernels {
    Pipeline wide, narrow;  // of 32 and of 16 tokens
    // Unsupported for a type without kernels.
    static Result<GemmKernels> build(const Device& device, DType dtype,
                                     const MetalOptions& options);
};

struct GemmPlan {
    Launch launch;
    MulMmArgs args;
    bool narrow = false;
};

// Of rows that check_product() allows. Unsupported naming the number that exceeds 32 bits. Pure.
Result<GemmPlan> plan_gemm(DType dtype, size_t in_dim, size_t out_dim, size_t n_tokens,
                           GemmTile tile);

// out[t][o] = dot(W[o], x[t]) for one matrix and operands such as matmul() takes. Each output's
// bits depend on its row and its token alone: not on the other tokens, nor on how many there are.
// Tiles of half take activations of any size (docs/decisions/0005-activations-beyond-half.md).
Result<> gemm(Context&, const Matrices&, const Slice& x, size_t n_tokens, const Slice& out);

}  // namespace minfer::metal
