// Instances of MLX's attention kernels.
#include <metal_stdlib>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/sdpa_vector.h"
#include "mlx/backend/metal/kernels/sdpa_blocked.h"
#include "mlx/backend/metal/kernels/steel/attn/kernels/steel_attention.h"

instantiate_kernel("sdpa_vector_float_64", sdpa_vector, float, 64)
instantiate_kernel("sdpa_vector_half_128", sdpa_vector, half, 128)
instantiate_kernel("sdpa_vector_2pass_1_float", sdpa_vector_2pass_1, float, 64)
instantiate_kernel("sdpa_vector_2pass_2_float", sdpa_vector_2pass_2, float, 64)
instantiate_kernel("causal_mask_float", sdpa_blocked_causal_mask, float)
instantiate_kernel("attention_float_64", attention, float, 32, 32, 64, 64, 4, 1, float, float)
instantiate_kernel("attention_bfloat_128", attention, bfloat16_t, 32, 16, 128, 128, 4, 1, bool, float)
