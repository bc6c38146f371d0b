// Instances of MLX's kernels on affine-quantised weights.
#include <metal_stdlib>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/steel/gemm/gemm.h"
#include "mlx/backend/metal/kernels/quantized_utils.h"
#include "mlx/backend/metal/kernels/quantized.h"

instantiate_kernel("quantize_float_4", affine_quantize, float, 64, 4)
instantiate_kernel("dequantize_float_4", affine_dequantize, float, 64, 4)
instantiate_kernel("dequantize_half_6", affine_dequantize, half, 32, 6)
instantiate_kernel("qmv_quad_float_4", affine_qmv_quad, float, 64, 4, 64, false)
instantiate_kernel("qmv_fast_half_4", affine_qmv_fast, half, 64, 4, false)
instantiate_kernel("qmv_float_4", affine_qmv, float, 64, 4, true)
instantiate_kernel("qmv_bfloat_3", affine_qmv, bfloat16_t, 32, 3, false)
instantiate_kernel("qvm_float_8", affine_qvm, float, 64, 8, false)
instantiate_kernel("qvm_split_k_half_5", affine_qvm_split_k, half, 64, 5, 8)
instantiate_kernel("qmm_t_float_4", affine_qmm_t, float, 64, 4, true, false)
instantiate_kernel("qmm_n_half_8", affine_qmm_n, half, 64, 8, false)
instantiate_kernel("gather_qmv_float_2", affine_gather_qmv, float, 64, 2)
instantiate_kernel("gather_qmm_rhs_half", affine_gather_qmm_rhs, half, 64, 4, 16, 32, 32, 1, 2, true)
