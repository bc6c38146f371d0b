#pragma once
// Cuts raw text into the pieces that are merged one by one.
//
// A hand-written scanner for Qwen's pattern, in linear time and without recursion; the
// alternatives in the order in which they are tried:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)
//   [^\r\n\p{L}\p{N}]?\p{L}+
//   \p{N}
//   _?[^\s\p{L}\p{N}]+[\r\n]*          (_ stands for a space)
//   \s*[\r\n]+
//   \s+(?!\S)
//   \s+
// Qwen35 has [\p{L}\p{M}]+ in the second and excludes \p{M} in the fourth. As in Hugging Face's
// engine, U+017F counts as an s in any case. A byte that is not valid UTF-8 is a piece by itself.

#include <cstddef>
#include <string_view>

#include "text/vocab.h"

namespace minfer {

// End of the piece that begins at `begin`, which lies inside the text; always past `begin`. The
// end of the text is the end of the input, as `\s+(?!\S)` sees it.
size_t piece_end(PreTokenizer rules, std::string_view text, size_t begin);

}  // namespace minfer
