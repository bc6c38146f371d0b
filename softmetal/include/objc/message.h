// The message senders. They have no useful type of their own: cast to the method's before the call,
// as metal-cpp does.
#pragma once

#include <objc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

void objc_msgSend(void);
#if defined(__x86_64__)
// Results larger than 16 bytes: the address of the result is the first argument.
void objc_msgSend_stret(void);
// Floating-point results.
void objc_msgSend_fpret(void);
#endif

#ifdef __cplusplus
}
#endif
