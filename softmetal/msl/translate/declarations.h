// One declaration of a namespace or class, taken apart by its brackets: enough to tell kernels,
// functions, classes and variables, and where their parts are.
#pragma once

#include <vector>

#include "softmetal/msl/translate/kernels.h"
#include "softmetal/msl/translate/signatures.h"
#include "softmetal/msl/translate/syntax.h"

namespace softmetal::msl {

struct Declaration {
    Range whole;
    DeclarationShape shape;
    std::vector<Attribute> attributes;  // before the parameter list
    size_t body = kNowhere;             // `{` of a function or class
    bool is_kernel = false;
    bool is_class = false;
    bool is_specialization = false;  // template <>
};

// The declaration that begins at token i; its end is whole.end.
Declaration read_declaration(const Tokens& tokens, size_t i, size_t end);

// The token after the `;` that ends what stands at i.
size_t past_semicolon(const Tokens& tokens, size_t i, size_t end);

}  // namespace softmetal::msl
