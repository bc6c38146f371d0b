// strtod, because Apple's libc++ has from_chars for integers only on the systems we build for. It
// accepts more than we do, and reads the decimal point of the C locale: nothing here sets another.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/parse.h"

namespace minfer {
namespace {

template <class T>
std::optional<T> parse(std::string_view text, T (*convert)(const char*, char**)) {
    const auto digits = text.substr(text.starts_with('-'));
    // No blank, second sign or prefix: all that a number begins with is a digit, point or letter.
    if (digits.empty() ||
        !(digits[0] == '.' || (digits[0] >= '0' && digits[0] <= '9') || digits[0] == 'i' ||
          digits[0] == 'I' || digits[0] == 'n' || digits[0] == 'N'))
        return std::nullopt;
    if (digits.starts_with("0x") || digits.starts_with("0X")) return std::nullopt;
    const std::string terminated(text);
    char* stop = nullptr;
    errno = 0;
    const T value = convert(terminated.c_str(), &stop);
    if (stop != terminated.c_str() + terminated.size()) return std::nullopt;
    // ERANGE is also said of values below the normal range, which are fine.
    if (errno == ERANGE && (std::isinf(value) || value == 0)) return std::nullopt;
    return value;
}

}  // namespace

template <>
std::optional<float> parse_number<float>(std::string_view text) {
    return parse<float>(text, std::strtof);
}

template <>
std::optional<double> parse_number<double>(std::string_view text) {
    return parse<double>(text, std::strtod);
}

}  // namespace minfer
