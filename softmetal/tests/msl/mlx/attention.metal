// Instances of MLX's blocked attention.
#include <metal_stdlib>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/steel/attn/kernels/steel_attention.h"

instantiate_kernel("attention_float_64", attention, float, 32, 32, 64, 64, 4, 1, float, float)
instantiate_kernel("attention_bfloat_128", attention, bfloat16_t, 32, 16, 128, 128, 4, 1, bool, float)
