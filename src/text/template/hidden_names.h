#pragma once
// Jinja compiles a template to Python and decides before it runs where a name is looked up. One
// consequence shows: a name that is set in a frame (the template, a loop body, a macro, a set
// block), before that frame reads it and not inside an if, is undefined until then, also in inner
// frames that run earlier and also when the caller passed a variable of that name. These are the
// hidden names; everything else follows from looking outwards through the frames.

#include "text/template/ast.h"

namespace minfer::jinja {

void find_hidden_names(Program& program);

}  // namespace minfer::jinja
