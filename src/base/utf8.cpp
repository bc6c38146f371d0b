#include "base/utf8.h"

namespace minfer {
namespace {

// Length that a first byte announces, whatever follows; 0 for a byte that can begin nothing.
// C0, C1 and F5 to F7 begin only invalid sequences, but they do announce a length.
uint8_t announced_length(uint8_t first) {
    if (first < 0x80) return 1;
    if (first < 0xC0) return 0;
    if (first < 0xE0) return 2;
    if (first < 0xF0) return 3;
    if (first < 0xF8) return 4;
    return 0;
}

bool continues(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
    const auto first = static_cast<uint8_t>(text[at]);
    if (first < 0x80) return {first, 1};
    const uint8_t length = announced_length(first);
    const CodePoint bad = {kBadByte, 1};
    if (length == 0 || text.size() - at < length) return bad;
    char32_t value = first & (0x7F >> length);
    for (size_t i = 1; i < length; ++i) {
        if (!continues(text[at + i])) return bad;
        value = value << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3F);
    }
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < kSmallest[length] || value > 0x10FFFF) return bad;
    if (value >= 0xD800 && value < 0xE000) return bad;
    return {value, length};
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const auto point = code_point_at(text, at);
        if (point.value == kBadByte) return at;
        at += point.n_bytes;
    }
    return std::nullopt;
}

void append_utf8(std::string& text, char32_t point) {
    const auto byte = [&](char32_t value) { text.push_back(static_cast<char>(value)); };
    if (point < 0x80) return byte(point);
    if (point < 0x800) {
        byte(0xC0 | point >> 6);
    } else if (point < 0x10000) {
        byte(0xE0 | point >> 12);
        byte(0x80 | (point >> 6 & 0x3F));
    } else {
        byte(0xF0 | point >> 18);
        byte(0x80 | (point >> 12 & 0x3F));
        byte(0x80 | (point >> 6 & 0x3F));
    }
    byte(0x80 | (point & 0x3F));
}

std::string Utf8Joiner::push(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) {
        if (!held_.empty() && !continues(byte)) out += flush();  // cut short by this byte
        held_.push_back(byte);
        const auto length = announced_length(static_cast<uint8_t>(held_[0]));
        if (held_.size() < length) continue;
        if (code_point_at(held_, 0).n_bytes == held_.size() &&
            code_point_at(held_, 0).value != kBadByte) {
            out += held_;
        } else {
            append_utf8(out, kReplacement);
        }
        held_.clear();
    }
    return out;
}

std::string Utf8Joiner::flush() {
    std::string out;
    if (!held_.empty()) append_utf8(out, kReplacement);
    held_.clear();
    return out;
}

}  // namespace minfer
