#pragma once
// Which prefix of some bytes is well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF).

#include <cstddef>
#include <string_view>

namespace minfer {

// Bytes before the first ill-formed sequence; text.size() when all is well.
constexpr size_t valid_utf8_prefix(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    size_t i = 0;
    while (i < text.size()) {
        const unsigned lead = byte(i);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                              : lead >= 0xe0 && lead <= 0xef ? 3
                              : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                             : 0;
        if (length == 0 || text.size() - i < length) return i;
        const unsigned second = byte(i + 1);
        const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (second < low || second > high) return i;
        for (size_t k = 2; k < length; ++k)
            if ((byte(i + k) & 0xc0) != 0x80) return i;
        i += length;
    }
    return i;
}

constexpr bool is_utf8(std::string_view text) { return valid_utf8_prefix(text) == text.size(); }

}  // namespace minfer
