// What changes inside function bodies: threadgroup variables get their storage, and assignments
// to swizzles that clang does not take in templates are spelled in another way.
#pragma once

#include <vector>

#include "softmetal/msl/translate/diagnostic.h"
#include "softmetal/msl/translate/edits.h"
#include "softmetal/msl/translate/syntax.h"

namespace softmetal::msl {

void rewrite_body(const Tokens& tokens, Range body, bool in_kernel, bool in_template, Edits& edits,
                  std::vector<Diagnostic>& errors);

}  // namespace softmetal::msl
