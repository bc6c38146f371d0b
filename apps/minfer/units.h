#pragma once
// Numbers for people.

#include <cstdint>
#include <string>

namespace minfer {

std::string bytes_text(uint64_t bytes);  // "14.9 MiB"
std::string count_text(uint64_t count);  // "13.9 M"

}  // namespace minfer
