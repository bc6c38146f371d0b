// Instances of MLX's products of gathered and of segmented matrices.
#include <metal_stdlib>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/steel/gemm/gemm.h"
#include "mlx/backend/metal/kernels/steel/gemm/kernels/steel_gemm_gather.h"

instantiate_kernel("gather_mm_half", gather_mm, half, 64, 64, 16, 2, 2, false, true, float)
