#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace minfer {
namespace {

constexpr size_t kAlphabetEnd = 0x144;

constexpr auto kByteOf = [] {
    std::array<int16_t, kAlphabetEnd> byte_of;
    byte_of.fill(-1);
    size_t next_free = 0x100;
    for (size_t byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
        byte_of[printable ? byte : next_free++] = static_cast<int16_t>(byte);
    }
    return byte_of;
}();

}  // namespace

std::optional<std::string> bytes_of_token_text(std::string_view text) {
    std::string bytes;
    for (size_t at = 0; at < text.size();) {
        const auto point = code_point_at(text, at);
        if (point.value >= kAlphabetEnd || kByteOf[point.value] < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(kByteOf[point.value]));
        at += point.n_bytes;
    }
    return bytes;
}

}  // namespace minfer
