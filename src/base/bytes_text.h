#pragma once
// Numbers of bytes for people.

#include <cstdint>
#include <string>

namespace minfer {

std::string bytes_text(uint64_t bytes);  // "14.90 MiB"

}  // namespace minfer
