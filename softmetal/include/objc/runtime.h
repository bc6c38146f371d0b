// The part of the Objective-C runtime's interface that metal-cpp and its users name. softmetal/objc
// implements it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct objc_class* Class;
typedef struct objc_selector* SEL;
typedef void (*IMP)(void);
typedef bool BOOL;
struct objc_object {
    Class isa;
};
typedef struct objc_object* id;
typedef struct objc_object Protocol;

#ifndef YES
#define YES true
#define NO false
#endif
#ifndef nil
#define nil NULL
#endif
#ifndef Nil
#define Nil NULL
#endif

SEL sel_registerName(const char* name);
const char* sel_getName(SEL selector);
bool sel_isEqual(SEL a, SEL b);

// A class of Apple's that softmetal lacks is found all the same, as an object that stops the
// process with its name at the first message. Any other unknown name gives Nil.
Class objc_lookUpClass(const char* name);
Class objc_getClass(const char* name);
Protocol* objc_getProtocol(const char* name);

Class object_getClass(id object);
const char* object_getClassName(id object);
const char* class_getName(Class cls);
Class class_getSuperclass(Class cls);
bool class_respondsToSelector(Class cls, SEL selector);

// What NSAutoreleasePool does, without the object.
void* objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void* pool);

#ifdef __cplusplus
}
#endif
