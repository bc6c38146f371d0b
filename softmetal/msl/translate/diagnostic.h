// One line of a compiler log: what is wrong, and where in the preprocessed source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace softmetal::msl {

struct Diagnostic {
    std::string file;
    uint32_t line = 0;
    uint32_t column = 0;   // in the text the translator or the compiler read; 0: unknown
    std::string severity;  // "error", "warning", "note"
    std::string message;
};

}  // namespace softmetal::msl
