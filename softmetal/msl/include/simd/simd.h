// <simd/simd.h> for kernels: what headers shared with host code call Metal's types. Part of the
// program that includes it, unlike the library: its names are common ones.
#pragma once

#define SM_SIMD_NAMES(T)        \
    typedef T simd_##T##1;      \
    typedef T##2 simd_##T##2;   \
    typedef T##3 simd_##T##3;   \
    typedef T##4 simd_##T##4;   \
    typedef T##2 vector_##T##2; \
    typedef T##3 vector_##T##3; \
    typedef T##4 vector_##T##4; \
    namespace simd {            \
    typedef T T##1;             \
    using ::T##2;               \
    using ::T##3;               \
    using ::T##4;               \
    }
SM_SIMD_NAMES(char)
SM_SIMD_NAMES(uchar)
SM_SIMD_NAMES(short)
SM_SIMD_NAMES(ushort)
SM_SIMD_NAMES(int)
SM_SIMD_NAMES(uint)
SM_SIMD_NAMES(long)
SM_SIMD_NAMES(ulong)
SM_SIMD_NAMES(half)
SM_SIMD_NAMES(float)
#undef SM_SIMD_NAMES

#define SM_SIMD_MATRIX(T) \
    typedef T simd_##T;   \
    typedef T matrix_##T; \
    namespace simd {      \
    using ::T;            \
    }
SM_SIMD_MATRIX(float2x2)
SM_SIMD_MATRIX(float2x3)
SM_SIMD_MATRIX(float2x4)
SM_SIMD_MATRIX(float3x2)
SM_SIMD_MATRIX(float3x3)
SM_SIMD_MATRIX(float3x4)
SM_SIMD_MATRIX(float4x2)
SM_SIMD_MATRIX(float4x3)
SM_SIMD_MATRIX(float4x4)
SM_SIMD_MATRIX(half2x2)
SM_SIMD_MATRIX(half2x3)
SM_SIMD_MATRIX(half2x4)
SM_SIMD_MATRIX(half3x2)
SM_SIMD_MATRIX(half3x3)
SM_SIMD_MATRIX(half3x4)
SM_SIMD_MATRIX(half4x2)
SM_SIMD_MATRIX(half4x3)
SM_SIMD_MATRIX(half4x4)
#undef SM_SIMD_MATRIX
