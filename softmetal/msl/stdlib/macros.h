// The macros that MSL's headers define. Included twice: by the translator's preprocessing step,
// where nothing else of the library exists, and in front of the library itself. So: macros only.
#pragma once

#ifndef __METAL__
#define __METAL__ 1
#endif
#ifndef __METAL_VERSION__
#define __METAL_VERSION__ 310
#endif
#ifndef __METAL_MACOS__
#define __METAL_MACOS__ 1
#endif
#ifndef __HAVE_BFLOAT__
#define __HAVE_BFLOAT__ 1
#endif
#define __HAVE_ATOMIC_FENCE__ 1
#define __HAVE_SIMDGROUP_MATRIX__ 1
#define __HAVE_SIMDGROUP_REDUCTION__ 1
#define __HAVE_QUADGROUP_REDUCTION__ 1
#define __HAVE_OS_LOG__ 1

// Which family of the math functions the plain names mean; the arguments of the __metal_*
// spellings.
#define __METAL_PRECISE_MATH__ 0
#define __METAL_FAST_MATH__ 1
#ifndef __METAL_MAYBE_FAST_MATH__
#define __METAL_MAYBE_FAST_MATH__ 0
#endif

#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_INTERNAL inline __attribute__((always_inline))
#define METAL_CONST __attribute__((const))
#define METAL_PURE __attribute__((pure))
#define METAL_CONVERGENT

// ---- Constants of the types ---------------------------------------------------------------------

#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif
#ifndef HUGE_VALF
#define HUGE_VALF (__builtin_inff())
#endif
#define HUGE_VALH (static_cast<_Float16>(__builtin_inff()))
#define MAXFLOAT 0x1.fffffep127f
#define MAXHALF 0x1.ffcp15f16
#define MAXBFLOAT (bfloat(0x1.fep127f))

#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_EXP 128
#define FLT_MIN_EXP (-125)
#define FLT_MAX_10_EXP 38
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define FLT_TRUE_MIN 0x1p-149f
#define FLT_DECIMAL_DIG 9
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)

#define HALF_DIG 2
#define HALF_DECIMAL_DIG 5
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX 0x1.ffcp15f16
#define HALF_MIN 0x1p-14f16
#define HALF_EPSILON 0x1p-10f16
#define HALF_TRUE_MIN 0x1p-24f16

#define BFLT_DIG 2
#define BFLT_DECIMAL_DIG 4
#define BFLT_MANT_DIG 8
#define BFLT_MAX_10_EXP 38
#define BFLT_MAX_EXP 128
#define BFLT_MIN_10_EXP (-37)
#define BFLT_MIN_EXP (-125)
#define BFLT_RADIX 2
#define BFLT_MAX (bfloat(0x1.fep127f))
#define BFLT_MIN (bfloat(0x1p-126f))
#define BFLT_EPSILON (bfloat(0x1p-7f))
#define BFLT_TRUE_MIN (bfloat(0x1p-133f))

#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807l
#define LONG_MIN (-9223372036854775807l - 1)
#define ULONG_MAX 18446744073709551615ul

#define INT8_MIN (-128)
#define INT16_MIN (-32768)
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807l - 1)
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807l
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295u
#define UINT64_MAX 18446744073709551615ul

// ---- Mathematical constants ---------------------------------------------------------------------

#define M_E_F 2.71828182845904523536028747135266250f
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f

#define M_E_H 2.71828182845904523536028747135266250f16
#define M_LOG2E_H 1.44269504088896340735992468100189214f16
#define M_LOG10E_H 0.434294481903251827651128918916605082f16
#define M_LN2_H 0.693147180559945309417232121458176568f16
#define M_LN10_H 2.30258509299404568401799145468436421f16
#define M_PI_H 3.14159265358979323846264338327950288f16
#define M_PI_2_H 1.57079632679489661923132169163975144f16
#define M_PI_4_H 0.785398163397448309615660845819875721f16
#define M_1_PI_H 0.318309886183790671537767526745028724f16
#define M_2_PI_H 0.636619772367581343075535053490057448f16
#define M_2_SQRTPI_H 1.12837916709551257389615890312154517f16
#define M_SQRT2_H 1.41421356237309504880168872420969808f16
#define M_SQRT1_2_H 0.707106781186547524400844362104849039f16

#define M_E_BF (bfloat(M_E_F))
#define M_LOG2E_BF (bfloat(M_LOG2E_F))
#define M_LOG10E_BF (bfloat(M_LOG10E_F))
#define M_LN2_BF (bfloat(M_LN2_F))
#define M_LN10_BF (bfloat(M_LN10_F))
#define M_PI_BF (bfloat(M_PI_F))
#define M_PI_2_BF (bfloat(M_PI_2_F))
#define M_PI_4_BF (bfloat(M_PI_4_F))
#define M_1_PI_BF (bfloat(M_1_PI_F))
#define M_2_PI_BF (bfloat(M_2_PI_F))
#define M_2_SQRTPI_BF (bfloat(M_2_SQRTPI_F))
#define M_SQRT2_BF (bfloat(M_SQRT2_F))
#define M_SQRT1_2_BF (bfloat(M_SQRT1_2_F))
