// Instances of MLX's attention for one query at a time.
#include <metal_stdlib>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/sdpa_vector.h"
#include "mlx/backend/metal/kernels/sdpa_blocked.h"

instantiate_kernel("sdpa_vector_float_64", sdpa_vector, float, 64)
instantiate_kernel("sdpa_vector_half_128", sdpa_vector, half, 128)
instantiate_kernel("sdpa_vector_2pass_1_float", sdpa_vector_2pass_1, float, 64)
instantiate_kernel("sdpa_vector_2pass_2_float", sdpa_vector_2pass_2, float, 64)
instantiate_kernel("causal_mask_float", sdpa_blocked_causal_mask, float)
