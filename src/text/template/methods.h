#pragma once
// Methods of strings, lists, dicts and loops, with Python's meaning.

#include <string_view>

#include "text/template/runtime.h"

namespace minfer::jinja {

enum class MethodStatus : uint8_t {
    Known,    // we run it
    Unsafe,   // Python has it and Jinja's immutable sandbox refuses it
    NotOurs,  // Python has it and we do not run it
    None,     // no such attribute
};
MethodStatus method_status(const Value& object, std::string_view name);

// Whether any type has a method of this name that a template may call, so that a template can be
// refused when it is read.
bool is_method_of_any(std::string_view name);

Result<Value> call_method(Runtime& runtime, const Method& method, const Args& args);

// str.format and its one-value part (string_format.cpp).
Result<Value> format_method(Runtime& runtime, const String& format, const Args& args);
Result<std::string> format_value(Runtime& runtime, const Value& value, std::string_view spec);

Result<Value> call_string_method(Runtime& runtime, const String& self, std::string_view name,
                                 const Args& args);

// As Python's str.splitlines.
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
// The text without the characters of `set` at its ends.
std::string_view strip_set(std::string_view text, std::string_view set, bool left, bool right);
// `count` < 0: all.
Result<std::string> replace_all(Runtime& runtime, std::string_view text, std::string_view from,
                                std::string_view to, int64_t count);
// Fits any size that an argument could mean.
int64_t clamp_to_int64(Integer i);

}  // namespace minfer::jinja
