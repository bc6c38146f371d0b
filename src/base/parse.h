#pragma once
// Whole-string number parsing: "12x", "", " 1" and out-of-range values are not numbers.

#include <charconv>
#include <optional>
#include <string_view>

namespace minfer {

template <class T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

}  // namespace minfer
