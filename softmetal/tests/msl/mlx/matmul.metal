// Instances of MLX's matrix products: steel (simdgroup_matrix) and matrix-vector kernels.
#include <metal_stdlib>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/steel/gemm/gemm.h"
#include "mlx/backend/metal/kernels/steel/gemm/kernels/steel_gemm_fused.h"
#include "mlx/backend/metal/kernels/steel/gemm/kernels/steel_gemm_masked.h"
#include "mlx/backend/metal/kernels/steel/gemm/kernels/steel_gemm_splitk.h"
#include "mlx/backend/metal/kernels/gemv.h"

instantiate_kernel("gemm_nn_float", gemm, float, 32, 32, 16, 2, 2, false, false, float)
instantiate_kernel("gemm_nt_half", gemm, half, 64, 64, 16, 2, 2, false, true, float)
instantiate_kernel("gemm_tn_bfloat", gemm, bfloat16_t, 64, 32, 32, 2, 2, true, false, float)
instantiate_kernel("splitk_float", gemm_splitk, half, float, 16, 32, 16, 2, 2, false, true, false, true)
instantiate_kernel("splitk_accum_float", gemm_splitk_accum, float, half)
instantiate_kernel("masked_float", block_masked_gemm, float, bool, float, 32, 32, 16, 2, 2, false, false, true, true)
instantiate_kernel("masked_half", block_masked_gemm, half, 32, 32, 16, 2, 2, false, true, false, true)

instantiate_kernel("gemv_float", gemv, float, 1, 8, 1, 32, 4, 4, false, false)
instantiate_kernel("gemv_nc_axpby_half", gemv, half, 4, 1, 1, 32, 4, 4, true, true)
instantiate_kernel("gemv_t_bfloat", gemv_t, bfloat16_t, 1, 2, 8, 4, 4, 1, false, false)
