// What Apple's compiler refuses and clang, checking C++ for OpenCL, does not: found on the tokens.
#pragma once

#include <vector>

#include "softmetal/msl/strict/outline.h"
#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl::strict {

void check_rules(const Tokens& tokens, const Outline& outline, std::vector<Diagnostic>& errors);

// Every pointer and reference names the address space it points into.
void check_pointers(const Tokens& tokens, const Outline& outline, std::vector<Diagnostic>& errors);

}  // namespace softmetal::msl::strict
