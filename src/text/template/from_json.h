#pragma once
// JSON from a request to the values of a template.

#include <nlohmann/json.hpp>

#include "text/template/runtime.h"

namespace minfer::jinja {

// An error for text that is not UTF-8, and for what nests or weighs too much.
Result<Value> from_json(Runtime& runtime, const nlohmann::ordered_json& json);

}  // namespace minfer::jinja
