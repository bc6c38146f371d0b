// Where a SIMD function or barrier is called: the last parameter of each, filled in by the
// compiler.
#pragma once

namespace metal::sm {

// A type of its own, so that no argument of a program is taken for a place.
struct site {
    sm_site value;
    SM_FN constexpr operator sm_site() const { return value; }
};

consteval site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                    unsigned column = __builtin_COLUMN()) {
    return {sm_make_site(sm_hash_file(file), line, column)};
}

}  // namespace metal::sm

#define SM_SITE sm::site site = sm::here()
