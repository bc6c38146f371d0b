// What changes wherever it stands: address-space words, attributes, literals, pragmas.
#pragma once

#include <vector>

#include "softmetal/msl/translate/diagnostic.h"
#include "softmetal/msl/translate/edits.h"
#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {

void replace_words(const Tokens& tokens, Edits& edits, std::vector<Diagnostic>& errors);

}  // namespace softmetal::msl
