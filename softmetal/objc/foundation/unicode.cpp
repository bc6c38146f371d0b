#include "softmetal/objc/foundation/unicode.h"

#include <clocale>
#include <cwctype>

namespace softmetal::objc {
namespace {

constexpr char32_t kReplacement = 0xfffd;
bool is_high(char16_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(char16_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

void append(std::u16string& out, char32_t point) {
    if (point < 0x10000) {
        out.push_back(static_cast<char16_t>(point));
        return;
    }
    point -= 0x10000;
    out.push_back(static_cast<char16_t>(0xd800 + (point >> 10)));
    out.push_back(static_cast<char16_t>(0xdc00 + (point & 0x3ff)));
}

void append(std::string& out, char32_t point) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (point < 0x80) return put(point);
    if (point < 0x800) {
        put(0xc0 | point >> 6);
    } else {
        if (point < 0x10000) {
            put(0xe0 | point >> 12);
        } else {
            put(0xf0 | point >> 18);
            put(0x80 | (point >> 12 & 0x3f));
        }
        put(0x80 | (point >> 6 & 0x3f));
    }
    put(0x80 | (point & 0x3f));
}

// Takes one code point off the front; nothing, and at most one byte taken, when there is none.
std::optional<char32_t> take(std::string_view& bytes) {
    const auto lead = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (lead < 0x80) return lead;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || bytes.size() < static_cast<size_t>(more)) return {};
    char32_t point = lead & (0x3f >> more);
    for (int i = 0; i < more; ++i) {
        const auto next = static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
        if ((next & 0xc0) != 0x80) return {};
        point = point << 6 | (next & 0x3f);
    }
    constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[more] || point > 0x10ffff) return {};
    if (point >= 0xd800 && point < 0xe000) return {};
    bytes.remove_prefix(static_cast<size_t>(more));
    return point;
}

}  // namespace

std::optional<std::u16string> utf16_from_utf8(std::string_view bytes) {
    std::u16string result;
    result.reserve(bytes.size());
    while (!bytes.empty()) {
        const auto point = take(bytes);
        if (!point) return {};
        append(result, *point);
    }
    return result;
}

std::string repaired_utf8(std::string_view bytes) {
    std::string result;
    while (!bytes.empty()) append(result, take(bytes).value_or(kReplacement));
    return result;
}

std::u32string utf32_from_utf16(std::u16string_view units) {
    std::u32string result;
    for (size_t i = 0; i < units.size(); ++i) {
        if (is_high(units[i]) && i + 1 < units.size() && is_low(units[i + 1])) {
            result.push_back(0x10000 + ((units[i] & 0x3ffu) << 10) + (units[i + 1] & 0x3ffu));
            ++i;
        } else {
            const bool lone = is_high(units[i]) || is_low(units[i]);
            result.push_back(lone ? kReplacement : units[i]);
        }
    }
    return result;
}

std::u16string utf16_from_utf32(std::u32string_view points) {
    std::u16string result;
    for (const char32_t point : points) append(result, point);
    return result;
}

std::string utf8_from_utf16(std::u16string_view units) {
    std::string result;
    for (const char32_t point : utf32_from_utf16(units)) append(result, point);
    return result;
}

char16_t folded(char16_t unit) {
    if (unit < 0x80) return unit >= 'A' && unit <= 'Z' ? unit + ('a' - 'A') : unit;
    static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (!unicode) return unit;
    return static_cast<char16_t>(towlower_l(unit, unicode));
}

}  // namespace softmetal::objc
