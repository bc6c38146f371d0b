#include "base/printable.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace minfer {
namespace {

bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7f && point < 0xa0); }

}  // namespace

std::string escaped(std::string_view text) {
    std::string shown;
    for (size_t at = 0; at < text.size();) {
        const auto [point, n_bytes] = code_point_at(text, at);
        const auto bytes = text.substr(at, n_bytes);
        at += n_bytes;
        if (point == U'\n') {
            shown += "\\n";
        } else if (point == U'\t') {
            shown += "\\t";
        } else if (point == kBadByte || is_control(point)) {
            for (const char c : bytes)
                shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            shown += bytes;
        }
    }
    return shown;
}

std::string printable(std::string_view text, size_t max_bytes) {
    const bool cut = text.size() > max_bytes;
    if (cut) {
        text = text.substr(0, max_bytes);
        // Do not cut inside a character: drop continuation bytes, then their lead byte.
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80)
            text.remove_suffix(1);
        if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.remove_suffix(1);
    }
    return fmt::format("'{}{}'", escaped(text), cut ? "…" : "");
}

}  // namespace minfer
