// Instances of MLX's Fourier transforms, convolutions and gathers.
#include <metal_common>
#include <metal_math>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/fft.h"
#include "mlx/backend/metal/kernels/hadamard.h"
#include "mlx/backend/metal/kernels/indexing/gather_axis.h"
#include "mlx/backend/metal/kernels/steel/conv/conv.h"
#include "mlx/backend/metal/kernels/steel/conv/kernels/steel_conv.h"
#include "mlx/backend/metal/kernels/steel/conv/kernels/steel_conv_general.h"
#include "mlx/backend/metal/kernels/steel/conv/params.h"

instantiate_kernel("fft_256", fft, 256, float2, float2)
instantiate_kernel("rader_fft_512", rader_fft, 512, float2, float2)
instantiate_kernel("bluestein_fft_512", bluestein_fft, 512, float2, float2)
instantiate_kernel("four_step_fft_256", four_step_fft, 256, float2, float2, 0)
instantiate_kernel("gather_axis_float", gather_axis, float, int, int, true, false)
instantiate_kernel("conv_2d_float", implicit_gemm_conv_2d, float, 32, 32, 16, 2, 2)
