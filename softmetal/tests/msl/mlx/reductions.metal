// Instances of MLX's reductions, scans, sorts, softmax and Hadamard transform.
#include <metal_common>
#include <metal_simdgroup>

#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/atomic.h"
#include "mlx/backend/metal/kernels/reduce_utils.h"
#include "mlx/backend/metal/kernels/steel/defines.h"

#include "mlx/backend/metal/kernels/reduction/reduce_all.h"
#include "mlx/backend/metal/kernels/reduction/reduce_col.h"
#include "mlx/backend/metal/kernels/reduction/reduce_init.h"
#include "mlx/backend/metal/kernels/reduction/reduce_row.h"

#include "mlx/backend/metal/kernels/binary_ops.h"
#include "mlx/backend/metal/kernels/dot.h"
#include "mlx/backend/metal/kernels/hadamard.h"
#include "mlx/backend/metal/kernels/logsumexp.h"
#include "mlx/backend/metal/kernels/scan.h"
#include "mlx/backend/metal/kernels/softmax.h"
#include "mlx/backend/metal/kernels/sort.h"
#include "mlx/backend/metal/kernels/searchsorted.h"

#define reductions(name, T, U, Op)                                                          \
    instantiate_kernel("init_" name, init_reduce, U, Op)                                    \
    instantiate_kernel("all_" name, all_reduce, T, U, Op)                                   \
    instantiate_kernel("row_small_" name, row_reduce_small, T, U, Op, int, 1)               \
    instantiate_kernel("row_simple_" name, row_reduce_simple, T, U, Op)                     \
    instantiate_kernel("row_looped_" name, row_reduce_looped, T, U, Op, size_t, 2)          \
    instantiate_kernel("col_small_" name, col_reduce_small, T, U, Op, int, 1)               \
    instantiate_kernel("col_looped_" name, col_reduce_looped, T, U, Op, int, 1, 32, 32)     \
    instantiate_kernel("col_2pass_" name, col_reduce_2pass, T, U, Op, int, 1, 32, 32)
reductions("sum_float", float, float, Sum<float>)
reductions("prod_int", int, int, Prod<int>)
reductions("max_bfloat", bfloat16_t, bfloat16_t, Max<bfloat16_t>)
reductions("and_bool", bool, bool, And<bool>)
reductions("min_long", int64_t, int64_t, Min<int64_t>)

#define scans(name, T, U, Op)                                                         \
    instantiate_kernel("scan_" name, contiguous_scan, T, U, Op, 4, true, false)       \
    instantiate_kernel("scan_reverse_" name, strided_scan, T, U, Op, 4, false, true)
scans("sum_float", float, float, CumSum<float>)
scans("max_half", half, half, CumMax<half>)
scans("prod_int", int, int, CumProd<int>)
scans("logaddexp_float", float, float, CumLogaddexp<float>)

instantiate_kernel("sort_float", block_sort, float, float, false, 128, 4)
instantiate_kernel("argsort_half", block_sort_nc, half, uint, true, 64, 8)
instantiate_kernel("mb_sort_int", mb_block_sort, int, uint, true, 128, 8)
instantiate_kernel("mb_merge_int", mb_block_merge, int, uint, true, 128, 8)
instantiate_kernel("searchsorted_float", searchsorted, float, true)

instantiate_kernel("softmax_float", softmax_single_row, float)
instantiate_kernel("softmax_precise_half", softmax_single_row, half, float)
instantiate_kernel("softmax_looped_bfloat", softmax_looped, bfloat16_t, float)
instantiate_kernel("logsumexp_float", logsumexp, float)
instantiate_kernel("logsumexp_looped_half", logsumexp_looped, half)
instantiate_kernel("dot_float", dot_product, float, 4, 256, 8)
