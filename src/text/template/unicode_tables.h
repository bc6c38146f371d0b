#pragma once
// The tables behind unicode.h, sorted by first character.

#include <cstddef>
#include <cstdint>

namespace minfer::jinja {

struct CharRange {
    char32_t first, last;
};
struct CaseRow {  // every step-th character of first..last maps to itself + delta
    char32_t first, last;
    uint32_t step;
    int32_t delta;
};
struct CaseSpecial {  // one character to several, zero-terminated unless three long
    char32_t from;
    char32_t to[3];
};

extern const CaseRow kLowerRows[], kUpperRows[], kTitleRows[];
extern const size_t kLowerRowsCount, kUpperRowsCount, kTitleRowsCount;
extern const CaseSpecial kLowerSpecials[], kUpperSpecials[], kTitleSpecials[];
extern const size_t kLowerSpecialsCount, kUpperSpecialsCount, kTitleSpecialsCount;
extern const CharRange kCased[], kSigmaTransparent[], kUnprintable[];
extern const size_t kCasedCount, kSigmaTransparentCount, kUnprintableCount;

}  // namespace minfer::jinja
