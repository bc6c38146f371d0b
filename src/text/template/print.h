#pragma once
// Python's str() and repr() of values, and json.dumps.

#include <string>

#include "text/template/runtime.h"

namespace minfer::jinja {

std::string float_repr(double d);
// Appends str(value). An error for what would print a memory address.
Result<> append_str(Runtime& runtime, std::string& out, const Value& value);
Result<std::string> to_str(Runtime& runtime, const Value& value);
Result<std::string> to_repr(Runtime& runtime, const Value& value);

struct JsonStyle {
    bool ascii_only = false, sort_keys = false, indented = false;
    std::string indent;  // per level, if indented
    std::string item_separator = ", ", key_separator = ": ";
};
Result<std::string> to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace minfer::jinja
