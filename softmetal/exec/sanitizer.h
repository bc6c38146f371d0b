// Tells the sanitizers of stack switches; nothing in a plain build.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOFTMETAL_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SOFTMETAL_TSAN 1
#endif
#endif

#ifdef SOFTMETAL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SOFTMETAL_TSAN
#include <sanitizer/tsan_interface.h>
#endif
