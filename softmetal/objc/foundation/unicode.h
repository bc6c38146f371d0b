// UTF-8 and UTF-16, which NSString stands between, and upper and lower case.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace softmetal::objc {

// Nothing when the bytes are not UTF-8 (overlong forms and surrogates are not).
std::optional<std::u16string> utf16_from_utf8(std::string_view bytes);

// A surrogate without its other half becomes U+FFFD.
std::string utf8_from_utf16(std::u16string_view units);
std::u32string utf32_from_utf16(std::u16string_view units);
std::u16string utf16_from_utf32(std::u32string_view points);

// Replaces what is not UTF-8 with U+FFFD.
std::string repaired_utf8(std::string_view bytes);

// Lower case by Unicode's simple mapping, whatever the locale.
char16_t folded(char16_t unit);

}  // namespace softmetal::objc
