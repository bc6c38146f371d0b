#pragma once
// UTF-8 as the Unicode standard defines it: no overlong forms, no surrogates, nothing above
// U+10FFFF.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minfer {

constexpr char32_t kBadByte = 0xFFFFFFFF;  // not a code point: the byte here is not UTF-8
constexpr char32_t kReplacement = 0xFFFD;  // what people see in its place

struct CodePoint {
    char32_t value;   // kBadByte: the byte is not part of a valid character
    uint8_t n_bytes;  // 1 to 4; 1 for a bad byte
};

// The code point that begins at byte `at`, which lies inside the text.
CodePoint code_point_at(std::string_view text, size_t at);

// Offset of the first byte that is not valid UTF-8.
std::optional<size_t> find_invalid_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t code_point);

// Turns bytes that arrive in pieces into valid UTF-8: gives out whole characters, holds back the
// one to three bytes of an unfinished one, and replaces whatever is not UTF-8 by U+FFFD: once for
// an overlong form, a surrogate, a value above U+10FFFF or a character cut short, and once for
// each byte that can begin nothing.
class Utf8Joiner {
  public:
    std::string push(std::string_view bytes);
    std::string flush();  // the held bytes can no longer be completed: U+FFFD, or nothing

  private:
    std::string held_;  // a lead byte and fewer continuation bytes than it announces
};

}  // namespace minfer
