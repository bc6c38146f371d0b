#include "base/bytes_text.h"

#include <fmt/format.h>

#include <array>

namespace minfer {

std::string bytes_text(uint64_t bytes) {
    constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    auto amount = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
    return fmt::format("{:.2f} {}", amount, kUnits[unit]);
}

}  // namespace minfer
