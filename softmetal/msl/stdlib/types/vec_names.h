// float4 and its kin, under both names that programs use: float4 and metal::float4.
#pragma once

#define SM_VECTOR_NAMES(T, name)                      \
    typedef metal::vec<T, 2> name##2;                 \
    typedef metal::vec<T, 3> name##3;                 \
    typedef metal::vec<T, 4> name##4;                 \
    typedef metal::packed_vec<T, 2> packed_##name##2; \
    typedef metal::packed_vec<T, 3> packed_##name##3; \
    typedef metal::packed_vec<T, 4> packed_##name##4; \
    namespace metal {                                 \
    using ::name##2;                                  \
    using ::name##3;                                  \
    using ::name##4;                                  \
    using ::packed_##name##2;                         \
    using ::packed_##name##3;                         \
    using ::packed_##name##4;                         \
    }

SM_VECTOR_NAMES(bool, bool)
SM_VECTOR_NAMES(char, char)
SM_VECTOR_NAMES(unsigned char, uchar)
SM_VECTOR_NAMES(short, short)
SM_VECTOR_NAMES(unsigned short, ushort)
SM_VECTOR_NAMES(int, int)
SM_VECTOR_NAMES(unsigned int, uint)
SM_VECTOR_NAMES(long, long)
SM_VECTOR_NAMES(unsigned long, ulong)
SM_VECTOR_NAMES(_Float16, half)
SM_VECTOR_NAMES(bfloat, bfloat)
SM_VECTOR_NAMES(float, float)
#undef SM_VECTOR_NAMES
