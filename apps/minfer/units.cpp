#include "units.h"

#include <fmt/format.h>

#include <array>

namespace minfer {

std::string count_text(uint64_t count) {
    constexpr std::array kUnits = {"K", "M", "B", "T"};
    if (count < 1000) return fmt::format("{}", count);
    auto amount = static_cast<double>(count) / 1000;
    size_t unit = 0;
    for (; amount >= 1000 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
    return fmt::format("{:.2f} {}", amount, kUnits[unit]);
}

std::string counted(uint64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace minfer
