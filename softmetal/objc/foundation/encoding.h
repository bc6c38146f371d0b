// NSStringEncoding: bytes to text and back. Unknown encodings stop the process by number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace softmetal::objc {

// NS::StringEncoding, as far as it is implemented.
enum Encoding : uintptr_t {
    kAscii = 1,
    kUtf8 = 4,
    kLatin1 = 5,
    kUtf16 = 10,  // host order when written; a byte order mark decides when read
    kUtf16Big = 0x90000100,
    kUtf16Little = 0x94000100,
    kUtf32 = 0x8c000100,
    kUtf32Big = 0x98000100,
    kUtf32Little = 0x9c000100,
};

// Nothing when the bytes are no text in that encoding, or the text has no bytes in it.
std::optional<std::u16string> decode(std::string_view bytes, uintptr_t encoding);
std::optional<std::string> encode(std::u16string_view units, uintptr_t encoding);

// An upper bound of the bytes that one UTF-16 unit takes.
uintptr_t most_bytes_per_unit(uintptr_t encoding);

// The length in bytes of a string that ends with a zero unit.
size_t terminated_length(const char* text, uintptr_t encoding);

}  // namespace softmetal::objc
