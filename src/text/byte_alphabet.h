#pragma once
// How vocabularies of byte-level BPE write bytes: each as one printable character. Bytes 0x21-0x7E,
// 0xA1-0xAC and 0xAE-0xFF stand for themselves, the other 68, ascending, are U+0100 to U+0143.

#include <optional>
#include <string>
#include <string_view>

namespace minfer {

// The bytes that a token of the vocabulary stands for; none if it has characters outside the
// alphabet.
std::optional<std::string> bytes_of_token_text(std::string_view text);

}  // namespace minfer
