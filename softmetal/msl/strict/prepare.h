// Rewrites what C++ for OpenCL lacks or reads in another way. Address spaces stay: they are macros
// of library/words.h.
#pragma once

#include <string>

#include "softmetal/msl/strict/outline.h"

namespace softmetal::msl::strict {

// The text for clang; lines stay lines.
std::string prepared(const Tokens& tokens, const Outline& outline);

}  // namespace softmetal::msl::strict
