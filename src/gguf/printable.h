#pragma once
// Names out of hostile files, made fit for a message.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace minfer::gguf {

// 'text' with control characters and ill-formed bytes as \xNN, cut after max_bytes with "…".
inline std::string printable(std::string_view text, size_t max_bytes = 80) {
    std::string shown = "'";
    const bool cut = text.size() > max_bytes;
    if (cut) {
        text = text.substr(0, max_bytes);
        // Do not cut inside a character: drop continuation bytes, then their lead byte.
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
            text.remove_suffix(1);
        if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.remove_suffix(1);
    }
    while (!text.empty()) {
        const auto valid = find_invalid_utf8(text).value_or(text.size());
        for (const char c : text.substr(0, valid)) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte < 0x20 || byte == 0x7f)
                shown += c == '\n' ? "\\n" : c == '\t' ? "\\t" : fmt::format("\\x{:02x}", byte);
            else
                shown += c;
        }
        text.remove_prefix(valid);
        if (text.empty()) break;
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
        text.remove_prefix(1);
    }
    return shown + (cut ? "…'" : "'");
}

}  // namespace minfer::gguf
