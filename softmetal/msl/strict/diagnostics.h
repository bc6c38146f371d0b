// What clang says of the prepared text, in Metal's words.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace softmetal::msl::strict {

// File and line.
typedef std::set<std::pair<std::string, uint32_t>> Lines;

// Takes and returns clang's log. Drops what only C++ for OpenCL complains of and what is about
// lines that are `known` to be wrong, makes errors of the warnings that are errors here, and names
// address spaces as the user did.
std::string in_metal_words(std::string_view clang_output, const Lines& known);

}  // namespace softmetal::msl::strict
