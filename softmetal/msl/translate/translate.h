// Preprocessed MSL in, C++ for the stand-in library's prelude (msl/stdlib/metal.h) out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl {

enum class Target : uint8_t { Native, Nvptx };

struct Translation {
    std::string text;  // line n of a file is still line n of that file
    std::vector<Diagnostic> errors;
    std::vector<std::string> kernels;  // names, as far as the tokens tell
};

// Strips attributes and address spaces, turns kernels into functions, gives threadgroup variables
// and function constants their storage, and appends the module's table (exec/abi.h).
Translation translate(std::string_view preprocessed, Target target = Target::Native);

}  // namespace softmetal::msl
