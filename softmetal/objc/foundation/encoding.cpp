#include "softmetal/objc/foundation/encoding.h"

#include <bit>
#include <cstring>

#include "softmetal/objc/foundation/unicode.h"
#include "softmetal/objc/object.h"

namespace softmetal::objc {
namespace {

// Bytes a unit, whether the most significant comes first, and whether a mark at the front may tell.
struct Form {
    size_t unit = 1;
    bool big = false;
    bool marked = false;
    char32_t limit = 0;  // of one-byte encodings: the first code point without a byte
};

constexpr bool kHostIsBig = std::endian::native == std::endian::big;

Form form_of(uintptr_t encoding) {
    switch (encoding) {
        case kAscii:
            return {.limit = 0x80};
        case kUtf8:
            return {};
        case kLatin1:
            return {.limit = 0x100};
        case kUtf16:
            return {.unit = 2, .big = kHostIsBig, .marked = true};
        case kUtf16Big:
            return {.unit = 2, .big = true};
        case kUtf16Little:
            return {.unit = 2};
        case kUtf32:
            return {.unit = 4, .big = kHostIsBig, .marked = true};
        case kUtf32Big:
            return {.unit = 4, .big = true};
        case kUtf32Little:
            return {.unit = 4};
    }
    stop("NSString encoding %#zx is not implemented", encoding);
}

char32_t read_unit(const char* at, size_t unit, bool big) {
    char32_t value = 0;
    for (size_t i = 0; i < unit; ++i) {
        const auto byte = static_cast<unsigned char>(at[big ? i : unit - 1 - i]);
        value = value << 8 | byte;
    }
    return value;
}

void write_unit(std::string& out, char32_t value, size_t unit, bool big) {
    for (size_t i = 0; i < unit; ++i) {
        out.push_back(static_cast<char>(value >> 8 * (big ? unit - 1 - i : i)));
    }
}

}  // namespace

std::optional<std::u16string> decode(std::string_view bytes, uintptr_t encoding) {
    if (encoding == kUtf8) return utf16_from_utf8(bytes);
    Form form = form_of(encoding);
    if (bytes.size() % form.unit) return {};
    if (form.marked && !bytes.empty()) {
        const bool swapped = read_unit(bytes.data(), form.unit, !form.big) == 0xfeff;
        if (swapped) form.big = !form.big;
        if (swapped || read_unit(bytes.data(), form.unit, form.big) == 0xfeff) {
            bytes.remove_prefix(form.unit);
        }
    }
    std::u16string units;
    std::u32string points;
    for (size_t i = 0; i < bytes.size(); i += form.unit) {
        const char32_t value = read_unit(bytes.data() + i, form.unit, form.big);
        if (form.limit && value >= form.limit) return {};
        if (form.unit == 4 && (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))) return {};
        form.unit == 4 ? points.push_back(value) : units.push_back(static_cast<char16_t>(value));
    }
    return form.unit == 4 ? utf16_from_utf32(points) : units;
}

std::optional<std::string> encode(std::u16string_view units, uintptr_t encoding) {
    if (encoding == kUtf8) return utf8_from_utf16(units);
    const Form form = form_of(encoding);
    std::string result;
    if (form.unit == 4) {
        for (const char32_t point : utf32_from_utf16(units)) {
            write_unit(result, point, form.unit, form.big);
        }
        return result;
    }
    for (const char16_t unit : units) {
        if (form.limit && unit >= form.limit) return {};
        write_unit(result, unit, form.unit, form.big);
    }
    return result;
}

uintptr_t most_bytes_per_unit(uintptr_t encoding) {
    return encoding == kUtf8 ? 3 : form_of(encoding).unit;
}

size_t terminated_length(const char* text, uintptr_t encoding) {
    const size_t unit = form_of(encoding).unit;
    size_t length = 0;
    while (read_unit(text + length, unit, false) != 0) length += unit;
    return length;
}

}  // namespace softmetal::objc
