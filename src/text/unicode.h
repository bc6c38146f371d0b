#pragma once
// The class of a code point, as far as the pre-tokenizer cares: \p{L}, \p{M}, \p{N}, White_Space
// without and with line breaks (\r, \n only), and everything else.

#include "text/unicode_table.h"

namespace minfer {

CharClass char_class(char32_t point);

}  // namespace minfer
