#include "text/template/string_literal.h"

#include <limits>

#include "base/parse.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

// What str.encode("ascii", "backslashreplace") leaves.
std::string backslash_replace(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const char32_t c = next_point(text, at);
        const auto value = static_cast<uint32_t>(c);
        if (c < 0x80)
            out.push_back(static_cast<char>(c));
        else if (c < 0x100)
            out += fmt::format("\\x{:02x}", value);
        else if (c < 0x10000)
            out += fmt::format("\\u{:04x}", value);
        else
            out += fmt::format("\\U{:08x}", value);
    }
    return out;
}

// "1_000" -> "1000"; nullopt where Python refuses the underscore.
std::optional<std::string> drop_underscores(std::string_view text) {
    const auto digit = [&](size_t i) {
        return i < text.size() && text[i] >= '0' && text[i] <= '9';
    };
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            out.push_back(text[i]);
            continue;
        }
        if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
    }
    return out;
}

}  // namespace

Result<std::string> unescape_literal(std::string_view inside) {
    const std::string text = backslash_replace(inside);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out.push_back(text[i]);
            continue;
        }
        if (++i == text.size()) return fail(Fault::BadInput, "a string ends in a backslash");
        const char c = text[i];
        constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
        if (const size_t k = kFrom.find(c); k != std::string_view::npos) {
            out.push_back(kTo[k]);
        } else if (c == '\n') {
            // an escaped line break is nothing
        } else if (c >= '0' && c <= '7') {
            char32_t value = 0;
            size_t end = i;
            while (end < text.size() && end < i + 3 && text[end] >= '0' && text[end] <= '7')
                value = value * 8 + static_cast<char32_t>(text[end++] - '0');
            append_point(out, value);
            i = end - 1;
        } else if (c == 'x' || c == 'u' || c == 'U') {
            const size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
            const auto digits = std::string_view(text).substr(i + 1, length);
            const auto value = digits.size() == length ? parse_integer(digits, 16) : std::nullopt;
            if (!value || *value > 0x10ffff)
                return fail(Fault::BadInput, "malformed escape \\{} in a string", c);
            if (*value >= 0xd800 && *value < 0xe000)
                return fail(Fault::BadInput, "surrogate \\{}{} in a string", c, digits);
            append_point(out, static_cast<char32_t>(*value));
            i += length;
        } else if (c == 'N') {
            return fail(Fault::Unsupported, "character name escape \\N in a string");
        } else {
            out.push_back('\\');
            out.push_back(c);
        }
    }
    return out;
}

int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'z') return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
    return -1;
}

std::optional<Integer> parse_integer(std::string_view digits, int base) {
    if (digits.empty()) return std::nullopt;
    Integer value = 0;
    for (const char c : digits) {
        const int digit = digit_value(c);
        if (digit < 0 || digit >= base) return std::nullopt;
        if (__builtin_mul_overflow(value, Integer{base}, &value) ||
            __builtin_add_overflow(value, Integer{digit}, &value))
            return std::nullopt;
    }
    return value;
}

std::optional<double> parse_decimal(std::string_view text) {
    if (const auto value = parse_number<double>(text)) return value;
    // Out of range, or no number at all: the form decides.
    const auto digits = [&](size_t at) {
        while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
        return at;
    };
    size_t at = digits(0);
    if (at == 0) return std::nullopt;
    if (at < text.size() && text[at] == '.') at = digits(at + 1);
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        size_t from = at + 1;
        const bool negative = from < text.size() && text[from] == '-';
        if (negative || (from < text.size() && text[from] == '+')) ++from;
        at = digits(from);
        if (at == from || at != text.size()) return std::nullopt;
        return negative ? 0.0 : std::numeric_limits<double>::infinity();
    }
    if (at != text.size()) return std::nullopt;
    return std::numeric_limits<double>::infinity();
}

std::optional<Integer> python_int(std::string_view text) {
    text = strip_left(strip_right(text));
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const auto plain = drop_underscores(text);
    const auto value = plain ? parse_integer(*plain, 10) : std::nullopt;
    if (!value) return std::nullopt;
    return negative ? -*value : *value;
}

std::optional<double> python_float(std::string_view text) {
    text = strip_left(strip_right(text));
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    // Python knows no "nan(...)", and one sign is enough.
    if (text.find_first_of("(") != std::string_view::npos || text.starts_with('-'))
        return std::nullopt;
    const auto plain = drop_underscores(text);
    const auto value = plain ? parse_decimal(*plain) : std::nullopt;
    if (!value) return std::nullopt;
    return negative ? -*value : *value;
}

}  // namespace minfer::jinja
