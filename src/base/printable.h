#pragma once
// Text out of hostile files, made fit for a message: nothing in it drives a terminal, and what
// comes out is UTF-8 whatever went in.

#include <cstddef>
#include <string>
#include <string_view>

namespace minfer {

// Control characters (also U+0080 to U+009F) and ill-formed bytes as \xNN, byte by byte.
std::string escaped(std::string_view text);

// The same in single quotes, cut after max_bytes of the text with "…".
std::string printable(std::string_view text, size_t max_bytes = 80);

}  // namespace minfer
