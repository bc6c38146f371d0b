// The stand-in for <metal_stdlib>, Metal 3.1: one source for every target. It stands in front of
// every translated MSL file, as a precompiled header. It includes nothing but exec/abi.h and
// itself, since GPUs have neither libc nor libstdc++.
#pragma once

// In this order: each may use what stands above it.
// clang-format off
#include "softmetal/exec/abi.h"
#include "softmetal/msl/stdlib/macros.h"
#include "softmetal/msl/stdlib/types/scalar.h"
#include "softmetal/msl/stdlib/types/bfloat.h"
#include "softmetal/msl/stdlib/types/native.h"
#include "softmetal/msl/stdlib/types/swizzle.h"
#include "softmetal/msl/stdlib/types/vec_operators.h"
#include "softmetal/msl/stdlib/types/vec.h"
#include "softmetal/msl/stdlib/types/packed.h"
#include "softmetal/msl/stdlib/types/vec_names.h"
#include "softmetal/msl/stdlib/types/traits.h"
#include "softmetal/msl/stdlib/types/limits.h"
#include "softmetal/msl/stdlib/types/array.h"
#include "softmetal/msl/stdlib/types/shape.h"
#include "softmetal/msl/stdlib/uniform.h"
#include "softmetal/msl/stdlib/runtime.h"
#include "softmetal/msl/stdlib/math/lane_math.h"
#include "softmetal/msl/stdlib/math/core_float.h"
#include "softmetal/msl/stdlib/math/core_double.h"
#include "softmetal/msl/stdlib/math/exact.h"
#include "softmetal/msl/stdlib/math/math.h"
#include "softmetal/msl/stdlib/math/common.h"
#include "softmetal/msl/stdlib/math/relational.h"
#include "softmetal/msl/stdlib/math/geometric.h"
#include "softmetal/msl/stdlib/math/integer.h"
#include "softmetal/msl/stdlib/math/families.h"
#include "softmetal/msl/stdlib/math/pack.h"
#include "softmetal/msl/stdlib/types/matrix.h"
#include "softmetal/msl/stdlib/simd/site.h"
#include "softmetal/msl/stdlib/simd/operations.h"
#if defined(__NVPTX__)
#include "softmetal/msl/stdlib/simd/lanes_nvptx.h"
#else
#include "softmetal/msl/stdlib/simd/lanes_cpu.h"
#endif
#include "softmetal/msl/stdlib/simd/barrier.h"
#include "softmetal/msl/stdlib/simd/simdgroup.h"
#if defined(__NVPTX__)
#include "softmetal/msl/stdlib/simd/matrix_nvptx.h"
#else
#include "softmetal/msl/stdlib/simd/matrix_cpu.h"
#endif
#include "softmetal/msl/stdlib/simd/simdgroup_matrix.h"
#include "softmetal/msl/stdlib/atomic.h"
#include "softmetal/msl/stdlib/log_numbers.h"
#include "softmetal/msl/stdlib/log.h"
#include "softmetal/msl/stdlib/internals.h"
// clang-format on
