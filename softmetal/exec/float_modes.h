// Rounding and subnormal handling of the calling thread. Kernels always run with the default modes,
// whatever the program set for itself.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace softmetal::exec {

#if defined(__x86_64__)
constexpr uint64_t kDefaultFloatModes = 0x1f80;  // all exceptions masked, round to nearest
inline uint64_t float_modes() { return _mm_getcsr(); }
inline void set_float_modes(uint64_t modes) { _mm_setcsr(static_cast<uint32_t>(modes)); }
#elif defined(__aarch64__)
constexpr uint64_t kDefaultFloatModes = 0;
inline uint64_t float_modes() { return __builtin_arm_rsr64("fpcr"); }
inline void set_float_modes(uint64_t modes) { __builtin_arm_wsr64("fpcr", modes); }
#else
#error "how does this architecture set its floating-point modes?"
#endif

}  // namespace softmetal::exec
