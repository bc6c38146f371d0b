// Functions of C that clang's code generator calls by itself: on x86-64 the smaller and the larger
// of two halfs become calls of these. A module has no C library, so it brings its own.
#pragma once

#if !defined(__NVPTX__)
extern "C" {
__attribute__((used, weak, visibility("hidden"))) inline float fminf(float a, float b) {
    return b != b ? a : a < b ? a : b;
}
__attribute__((used, weak, visibility("hidden"))) inline float fmaxf(float a, float b) {
    return b != b ? a : a > b ? a : b;
}
}
#endif
