#include "text/unicode.h"

#include <algorithm>
#include <array>

namespace minfer {
namespace {

constexpr CharClass look_up(char32_t point) {
    // The last run that begins at or before the point: its key is at most (point, largest class).
    const auto* after = std::ranges::upper_bound(kClassRuns, static_cast<uint32_t>(point) << 3 | 7);
    return static_cast<CharClass>(after[-1] & 7);
}

// Most text is Latin; the search through the runs is for the rest.
constexpr auto kLatin = [] {
    std::array<CharClass, 0x250> classes;
    for (char32_t point = 0; point < classes.size(); ++point) classes[point] = look_up(point);
    return classes;
}();

}  // namespace

CharClass char_class(char32_t point) {
    return point < kLatin.size() ? kLatin[point] : look_up(point);
}

}  // namespace minfer
