// Instances of MLX's element-wise kernels, declared with its own macro.
#include <metal_integer>
#include <metal_math>

#include "mlx/backend/metal/kernels/utils.h"

#include "mlx/backend/metal/kernels/arange.h"
#include "mlx/backend/metal/kernels/binary_ops.h"
#include "mlx/backend/metal/kernels/ternary_ops.h"
#include "mlx/backend/metal/kernels/unary_ops.h"
#include "mlx/backend/metal/kernels/binary.h"
#include "mlx/backend/metal/kernels/copy.h"
#include "mlx/backend/metal/kernels/ternary.h"
#include "mlx/backend/metal/kernels/unary.h"

instantiate_kernel("arange_float", arange, float)
instantiate_kernel("arange_bfloat", arange, bfloat16_t)

#define copies(name, T, U)                              \
    instantiate_kernel("copy_s_" name, copy_s, T, U)    \
    instantiate_kernel("copy_v_" name, copy_v, T, U)    \
    instantiate_kernel("copy_g_" name, copy_g, T, U, 4) \
    instantiate_kernel("copy_gg_nd2_" name, copy_gg_nd2, T, U, int)
copies("float_half", float, half)
copies("bool_complex", bool, complex64_t)
copies("bfloat_uchar", bfloat16_t, uint8_t)

#define binaries(name, T, U, Op)                              \
    instantiate_kernel("vv_" name, binary_vv, T, U, Op)       \
    instantiate_kernel("sv_" name, binary_sv, T, U, Op)       \
    instantiate_kernel("g_nd3_" name, binary_g_nd3, T, U, Op) \
    instantiate_kernel("g_" name, binary_g, T, U, Op, 2, int)
binaries("add_float", float, float, Add)
binaries("add_complex", complex64_t, complex64_t, Add)
binaries("multiply_half", half, half, Multiply)
binaries("power_int", int, int, Power)
binaries("less_bfloat", bfloat16_t, bool, Less)
binaries("logaddexp_float", float, float, LogAddExp)
binaries("arctan2_float", float, float, ArcTan2)
binaries("remainder_long", int64_t, int64_t, Remainder)

#define unaries(name, T, U, Op)                       \
    instantiate_kernel("v_" name, unary_v, T, U, Op)  \
    instantiate_kernel("v2_" name, unary_v2, T, U, Op)
unaries("exp_float", float, float, Exp)
unaries("exp_complex", complex64_t, complex64_t, Exp)
unaries("erf_half", half, half, Erf)
unaries("erfinv_float", float, float, ErfInv)
unaries("expm1_bfloat", bfloat16_t, bfloat16_t, Expm1)
unaries("sqrt_float", float, float, Sqrt)
unaries("sigmoid_float", float, float, Sigmoid)
unaries("not_bool", bool, bool, LogicalNot)
unaries("real_complex", complex64_t, float, Real)
unaries("tofp8_float", float, uint8_t, ToFP8)
unaries("fromfp8_float", uint8_t, float, FromFP8)

instantiate_kernel("select_float", ternary_v, float, Select, false, false)
instantiate_kernel("select_g_bool", ternary_g, bool, Select)
