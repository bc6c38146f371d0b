#pragma once
// Whole-string number parsing: "12x", "", " 1", "+1" and out-of-range values are not numbers.

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace minfer {

template <std::integral T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

// Decimal, rounded to the nearest value; "inf" and "nan" are numbers, hexadecimal digits are not.
template <std::floating_point T>
std::optional<T> parse_number(std::string_view text);
template <>
std::optional<float> parse_number<float>(std::string_view text);
template <>
std::optional<double> parse_number<double>(std::string_view text);

}  // namespace minfer
