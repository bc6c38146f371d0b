// What the translator learns of kernels, their explicit instances and function constants while it
// strips what C++ does not know; the reflection table is written from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softmetal/msl/translate/diagnostic.h"
#include "softmetal/msl/translate/syntax.h"

namespace softmetal::msl {

// `buffer(0)` in `[[buffer(0), function_constant(has_bias)]]`.
struct Attribute {
    std::string name;
    std::string argument;  // text between the parentheses; "" when there are none
    size_t token = 0;
};
// The attributes of the `[[...]]` at token i.
std::vector<Attribute> read_attributes(const Tokens& tokens, size_t i);

enum class ParameterKind : uint8_t { Unknown, Buffer, Threadgroup, Builtin };

struct Parameter {
    ParameterKind kind = ParameterKind::Unknown;
    std::string type;  // as written, without attributes
    std::string name;
    std::string index;    // buffers, threadgroup memory: constant expression
    std::string builtin;  // "thread_position_in_grid", ...
    std::string function_constant;
    std::string address_space;  // "" when the type does not say
    int pointers = 0;           // `*` and array brackets
    bool is_reference = false;
    size_t name_token = kNowhere, reference_token = kNowhere;  // the name, and the `&`
    Place place;
};

struct TemplateParameter {
    bool is_type = false, has_default = false, is_pack = false;
    std::string name;  // "" when it has none
};

struct Kernel {
    std::string name;
    std::vector<std::string> scope;  // namespaces, outermost first; "" for an unnamed one
    std::string host_name;           // expression; "" when not given
    bool is_template = false;
    std::vector<TemplateParameter> template_parameters;
    std::vector<Parameter> parameters;
    Place place;
};

// One entry of the table: a kernel, or an explicit instance of a kernel template.
struct Instance {
    size_t kernel = 0;
    std::string id;                      // "f<float, 4>", as named in `scope`
    std::vector<std::string> arguments;  // "float", "4"
    std::string host_name;               // expression
    std::vector<std::string> scope;
    Place place;
};

struct FunctionConstant {
    std::string name;
    std::string index;  // expression
    std::vector<std::string> scope;
    Place place;
};

// Reads a kernel's parameter list, tokens between its parentheses, and says what is wrong with it.
std::vector<Parameter> read_parameters(const Tokens& tokens, Range list, const std::string& kernel,
                                       std::vector<Diagnostic>& errors);

// Template headers: tokens between `<` and `>`.
std::vector<TemplateParameter> read_template_parameters(const Tokens& tokens, Range header);
// Whether template arguments, tokens between `<` and `>`, can be those of a kernel: overloaded
// kernel templates are told apart by number and kind.
bool may_instantiate(const Kernel& kernel, const Tokens& tokens, Range arguments);

Place place_of(const Tokens& tokens, size_t token);
Diagnostic error_at(const Tokens& tokens, size_t token, std::string message);

}  // namespace softmetal::msl
