// What <simd/simd.h> calls the same types: the names in headers that host code and kernels share.
#pragma once

#define SM_SIMD_NAMES(T, name)                 \
    typedef T simd_##name##1;                  \
    typedef metal::vec<T, 2> simd_##name##2;   \
    typedef metal::vec<T, 3> simd_##name##3;   \
    typedef metal::vec<T, 4> simd_##name##4;   \
    typedef metal::vec<T, 2> vector_##name##2; \
    typedef metal::vec<T, 3> vector_##name##3; \
    typedef metal::vec<T, 4> vector_##name##4; \
    namespace simd {                           \
    typedef T name##1;                         \
    using ::name##2;                           \
    using ::name##3;                           \
    using ::name##4;                           \
    }
SM_SIMD_NAMES(char, char)
SM_SIMD_NAMES(unsigned char, uchar)
SM_SIMD_NAMES(short, short)
SM_SIMD_NAMES(unsigned short, ushort)
SM_SIMD_NAMES(int, int)
SM_SIMD_NAMES(unsigned int, uint)
SM_SIMD_NAMES(long, long)
SM_SIMD_NAMES(unsigned long, ulong)
SM_SIMD_NAMES(_Float16, half)
SM_SIMD_NAMES(float, float)
#undef SM_SIMD_NAMES

#define SM_SIMD_MATRIX(T, name, shape)     \
    typedef T##shape simd_##name##shape;   \
    typedef T##shape matrix_##name##shape; \
    namespace simd {                       \
    using ::T##shape;                      \
    }
#define SM_SIMD_MATRICES(T, name) \
    SM_SIMD_MATRIX(T, name, 2x2)  \
    SM_SIMD_MATRIX(T, name, 2x3)  \
    SM_SIMD_MATRIX(T, name, 2x4)  \
    SM_SIMD_MATRIX(T, name, 3x2)  \
    SM_SIMD_MATRIX(T, name, 3x3)  \
    SM_SIMD_MATRIX(T, name, 3x4)  \
    SM_SIMD_MATRIX(T, name, 4x2)  \
    SM_SIMD_MATRIX(T, name, 4x3)  \
    SM_SIMD_MATRIX(T, name, 4x4)
SM_SIMD_MATRICES(float, float)
SM_SIMD_MATRICES(half, half)
#undef SM_SIMD_MATRICES
#undef SM_SIMD_MATRIX
