// The few Core Foundation types that appear in metal-cpp's declarations.
#pragma once

#include <TargetConditionals.h>
#include <math.h>  // Apple's header brings it along, and metal-cpp counts on INFINITY
#include <stdint.h>

typedef double CFTimeInterval;
typedef const void* CFTypeRef;
typedef long CFIndex;
typedef const struct __CFString* CFStringRef;

#ifdef __cplusplus
extern "C" {
#endif

CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);

// The constant string of a literal; the same text gives the same object, which lives for ever.
CFStringRef __CFStringMakeConstantString(const char* text);

#ifdef __cplusplus
}
#endif
