#pragma once
// Numbers for people.

#include <cstdint>
#include <string>
#include <string_view>

namespace minfer {

std::string bytes_text(uint64_t bytes);                      // "14.9 MiB"
std::string count_text(uint64_t count);                      // "13.9 M"
std::string counted(uint64_t count, std::string_view noun);  // "1 token", "2 tokens"

}  // namespace minfer
