#pragma once
// Python's literals and numerals as text.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/value.h"

namespace minfer::jinja {

// The inside of a quoted string, as Jinja reads it: Python's unicode-escape after every non-ASCII
// character was itself written as an escape.
Result<std::string> unescape_literal(std::string_view inside);

int digit_value(char c);  // 0..35, or -1
// Digits only; nullopt if there are none, one is not of the base, or the number has over 127 bits.
std::optional<Integer> parse_integer(std::string_view digits, int base);

// Digits, a fraction, an exponent; what is too large is infinite, too small zero. nullopt: other
// text.
std::optional<double> parse_decimal(std::string_view text);

// Python's int(text) and float(text): white space around, a sign, single underscores between
// digits.
std::optional<Integer> python_int(std::string_view text);
std::optional<double> python_float(std::string_view text);

}  // namespace minfer::jinja
