#pragma once
// Python's operators and look-ups.

#include "text/template/ast.h"
#include "text/template/runtime.h"

namespace minfer::jinja {

Result<Value> unary(Op op, const Value& value);
Result<Value> binary(Runtime& runtime, Op op, const Value& a, const Value& b);
Result<bool> compare_with(Runtime& runtime, Op op, const Value& a, const Value& b);
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);

// object.name and object[key] as Jinja's sandbox does them: what is not there is undefined.
Result<Value> get_attribute(const Value& object, std::string_view name);
Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key);
// object[start:stop:step], none where absent.
Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                        const Value& stop, const Value& step);

// The printf-like % of strings (percent_format.cpp).
Result<Value> percent_format(Runtime& runtime, const String& format, const Value& values);

std::string escape_html(std::string_view text);

}  // namespace minfer::jinja
