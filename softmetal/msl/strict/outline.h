// The functions, variables and type names of a translation unit, found by brackets: what the rules
// and the preparation for clang walk over.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/msl/translate/declarations.h"

namespace softmetal::msl::strict {

struct Function {
    Declaration declaration;
    size_t name = kNowhere;       // its token; the word `operator` of an operator
    std::string_view class_name;  // of a member, also of one defined outside its class; else ""
    bool in_class = false;
    bool is_static = false;
    bool is_special = false;    // constructor or destructor
    bool is_defaulted = false;  // = default, = delete
    Range body;                 // between `{` and `}`; empty for a mere declaration
};

struct Variable {
    Declaration declaration;
    bool is_member = false;
};

struct Outline {
    std::vector<Function> functions;
    std::vector<Variable> variables;            // of namespaces and classes
    std::set<std::string_view> types;           // classes, enumerations and aliases
    std::set<std::string_view> spaced_types;    // aliases that name an address space themselves
    std::set<std::string_view> template_types;  // template parameters that are types
};

Outline outline_of(const Tokens& tokens);

}  // namespace softmetal::msl::strict
