#pragma once
// Characters as Python's str sees them: strings here are valid UTF-8, positions count code points,
// and case, white space and printability are Python's (tables made by make_unicode_tables.py).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::jinja {

// The byte offset of the first byte that is not valid UTF-8, or npos.
size_t find_invalid_utf8(std::string_view text);

bool is_ascii(std::string_view text);
size_t count_points(std::string_view text);
// The code point at byte offset `at`, which moves past it. Valid UTF-8 only, here and below.
char32_t next_point(std::string_view text, size_t& at);
void append_point(std::string& out, char32_t c);
// The byte offset of code point number `index` (at most the number of points).
size_t byte_offset(std::string_view text, size_t index);
std::vector<char32_t> to_points(std::string_view text);

bool is_space(char32_t c);
bool is_printable(char32_t c);
std::string_view strip_left(std::string_view text);   // Python white space
std::string_view strip_right(std::string_view text);  // Python white space

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_title(std::string_view text);
std::string to_capitalized(std::string_view text);

}  // namespace minfer::jinja
