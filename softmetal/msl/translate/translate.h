// Preprocessed MSL in, C++ for the stand-in library's prelude (msl/stdlib/metal.h) out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl {

struct Translation {
    std::string text;  // line n of a file is still line n of that file
    std::vector<Diagnostic> errors;
};

// Strips attributes and address spaces, turns kernels into functions, gives threadgroup variables
// and function constants their storage, and appends the module's table (exec/abi.h).
Translation translate(std::string_view preprocessed);

}  // namespace softmetal::msl
