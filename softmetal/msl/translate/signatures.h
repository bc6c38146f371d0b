// Overloads that differ only in address space become the same C++ function once address spaces are
// stripped. This page spells a declaration in a form in which those are equal: template and
// function parameter names, defaults and specifiers do not matter.
#pragma once

#include <string>

#include "softmetal/msl/translate/syntax.h"

namespace softmetal::msl {

struct Signature {
    std::string flat;   // without address spaces: what C++ will tell apart
    std::string exact;  // with them: what MSL tells apart
};

struct DeclarationShape {
    std::vector<Range> template_headers;  // between `<` and `>`
    Range head;                           // return type, specifiers and name
    Range parameters;                     // between `(` and `)`
    Range trailing;                       // const, thread, ... after `)`
    bool has_parameters = false;
};

Signature signature_of(const Tokens& tokens, const DeclarationShape& shape);

}  // namespace softmetal::msl
