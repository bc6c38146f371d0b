// One line of a compiler log.
#pragma once

#include <cstdint>
#include <string>

namespace softmetal::msl {

// A token of the user's source. Lines survive preprocessing and translation, columns do not: there
// a token is the n-th of its spelling on the line.
struct Place {
    std::string file;
    uint32_t line = 0;
    std::string spelling;  // "": the line as a whole
    uint32_t ordinal = 0;
    uint32_t column = 0;  // when it is known already
};

struct Diagnostic {
    Place place;
    std::string severity;  // "error", "warning", "note"
    std::string message;
};

}  // namespace softmetal::msl
