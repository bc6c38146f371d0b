// Functions that call themselves, found in the calls of LLVM IR: overloads and instances are told
// apart there.
#pragma once

#include <string_view>
#include <vector>

#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl::strict {

// `ir` is LLVM's text with line tables.
void check_recursion(std::string_view ir, std::vector<Diagnostic>& errors);

}  // namespace softmetal::msl::strict
