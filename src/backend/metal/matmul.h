#pragma once
// Weight matrices times activations: which kernel family a product goes to, and the matrix-vector
// family itself. Activations and results are f32, accumulation is f32.

#include <array>
#include <span>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/kernels/mul_mv.h"
#include "backend/metal/metal_backend.h"
#include "tensor/dtype.h"

namespace minfer::metal {

struct Context;

// Matrices of one type and input width whose products lie one after another in each output row:
// one, or the parts of a fused projection.
struct Matrices {
    DType dtype = DType::F32;
    size_t in_dim = 0;
    std::array<Slice, 3> weights;    // [rows][in_dim] as the file stores them
    std::array<uint32_t, 3> rows{};  // of each
    size_t count = 0;                // of matrices, 1 to 3

    size_t out_dim() const { return size_t{rows[0]} + rows[1] + rows[2]; }
};

// What multiplies a weight type. Multi is Single, which loops over the tokens.
enum class MatmulTier : uint8_t { Single, MultiColumn, Multi, Gemm };

// One token: Single. 2 to 8: MultiColumn, which reads the weights once for up to four of them and
// gives each the bits that Single gives. More: Gemm. Without `options.multi_column`, 2 to 8 tokens
// go to Gemm where the weights have 2048 rows, else to Multi. Multi also takes what Gemm may not
// have: everything without `options.gemm`, F16, BF16 and F32 without `options.float_gemm`. Pure.
MatmulTier matmul_tier(DType dtype, size_t out_dim, size_t n_tokens, const MetalOptions& options);

struct MatmulKernels {
    std::array<Pipeline, 4> mul_mv;  // of one to four columns
    // Unsupported for a type without kernels.
    static Result<MatmulKernels> build(const Device& device, DType dtype);
};

// The types that weight matrices have: those that every kernel of matrices is made for.
bool runs_as_weight(DType dtype);

struct MulMvPlan {
    Launch launch;
    MulMvArgs args;
    uint32_t columns = 1;  // picks the kernel
};

// `tier` is Single, MultiColumn or Multi; the matrices are such as matmul() takes. Unsupported for
// more tokens or threadgroups than 32 bits count. Pure.
Result<MulMvPlan> plan_mul_mv(const Matrices& matrices, size_t n_tokens, MatmulTier tier);

// What of a product can be known without its weights, and is said before any is looked up.
// Unsupported naming the type and the kernel it would be taken for, or a number that exceeds 32
// bits; BadInput for rows that are not whole blocks.
Result<> check_product(DType dtype, size_t in_dim, size_t out_dim);

// out[t][o] = dot(W[o], x[t]); out is f32[n_tokens][sum of rows], x f32[n_tokens][in_dim]. A bias
// is the caller's own dispatch. Unsupported for a type without kernels and for several matrices
// with more than one token; BadInput for sizes that do not fit each other or the type's blocks, and
// for weights at an offset that is no multiple of 4.
Result<> matmul(Context&, const Matrices&, const Slice& x, size_t n_tokens, const Slice& out);

// rows[t][i] += bias[i]; rows is f32[n_rows][width], bias f32[width].
Result<> add_bias(Context&, const Slice& rows, const Slice& bias, size_t n_rows, size_t width);

// One element a thread, 256 to a threadgroup, which keeps to its row.
constexpr uint32_t kAddBiasThreads = 256;
Result<Launch> plan_add_bias(size_t n_rows, size_t width);

}  // namespace minfer::metal
