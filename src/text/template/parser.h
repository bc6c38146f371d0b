#pragma once
// Tokens to trees. What we do not run is refused here, by name and line, so that a model with such
// a template does not start.

#include <string_view>

#include "base/result.h"
#include "text/template/ast.h"

namespace minfer::jinja {

// Fault::Unsupported: a construct we do not run; Fault::BadInput: a mistake in the template.
Result<Program> parse_template(std::string_view source);

}  // namespace minfer::jinja
