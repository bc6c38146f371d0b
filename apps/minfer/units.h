#pragma once
// Numbers for people.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes_text.h"

namespace minfer {

std::string count_text(uint64_t count);                      // "13.9 M"
std::string counted(uint64_t count, std::string_view noun);  // "1 token", "2 tokens"

}  // namespace minfer
