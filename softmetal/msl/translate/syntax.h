// Reading C++ by its brackets: just enough grammar to find declarations, parameter lists and
// template argument lists in a token stream without knowing any types.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {

constexpr size_t kNowhere = SIZE_MAX;

struct Range {
    size_t begin = 0, end = 0;  // tokens [begin, end)
    bool empty() const { return begin >= end; }
};

// device, constant, threadgroup, thread and their rarer relatives.
bool is_address_space(const Token& token);
// inline, static, ...: words before a declaration that are not part of its type.
bool is_specifier(const Token& token);
// A keyword of C++20, which is what MSL is translated to.
bool is_keyword(std::string_view word);
bool is_builtin_type_word(const Token& token);

// The token after the bracket pair or attribute that begins at i; i + 1 when it is neither.
size_t skip_bracket(const Tokens& tokens, size_t i);
bool starts_attribute(const Tokens& tokens, size_t i);  // `[[`
// The token after the template argument list whose `<` is at i, or kNowhere.
size_t skip_angles(const Tokens& tokens, size_t i, size_t end);
// The `<` of the template argument list whose `>` is at i, or kNowhere.
size_t open_angle(const Tokens& tokens, size_t begin, size_t i);
// The token after a type such as `const typename A<B>::template C<D>` that begins at i (without
// `*`, `&` or declarator), or kNowhere.
size_t skip_type(const Tokens& tokens, size_t i, size_t end);
// The first token in `range` outside all brackets, attributes and template arguments that is
// `what`.
size_t find_outside(const Tokens& tokens, Range range, std::string_view what);
// Splits at `,` outside all brackets and template argument lists.
std::vector<Range> split_commas(const Tokens& tokens, Range range);
// Steps over __attribute__((..)), alignas(..), decltype(..), [[..]]; i when there is none.
size_t skip_attribute_like(const Tokens& tokens, size_t i, size_t end);

// Tokens joined by single spaces where C++ needs or readers like them.
std::string join(const Tokens& tokens, Range range);

// Tokens as C++ text, with address spaces left out.
std::string flat_text(const Tokens& tokens, Range range);

// The last word outside attributes: the name of a variable that is declared by `range`.
size_t last_word(const Tokens& tokens, Range range);

}  // namespace softmetal::msl
