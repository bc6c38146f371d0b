#pragma once
// What happens to messages before and after the template: one checked shape going in, and the part
// of the rendering that is new coming out. Pure functions.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minfer {

// An array of messages as a request brings them, checked and brought to one form:
//   role     system, user, assistant or tool; developer becomes system; others are refused
//   content  a string; null or absent becomes ""; an array of {"type": "text", "text": ...} parts
//            (or bare strings) is joined in order; other part types are refused
// Other fields (tool_calls, reasoning_content, name, ...) pass through. Errors are Fault::BadInput
// and name the message by its index.
Result<nlohmann::ordered_json> normalise_messages(const nlohmann::ordered_json& messages);

// The text to evaluate when `past` (rendered without a generation prompt) is already in the cache
// and `all` is the rendering with the new messages. A model stops at its end token and never sees
// the newline that templates put after it: if past ends in a newline, that newline comes first in
// the result. nullopt: past is not a prefix of all (the template rewrote history); compare tokens.
std::optional<std::string> new_turn_text(std::string_view past, std::string_view all);

// `rendering` ends in an assistant message rendered without a generation prompt; the result ends
// where the text of that message ends, so that the model goes on with it. What follows the last
// occurrence of `content` (the end marker and white space) is removed. nullopt: the rendering does
// not contain the content.
std::optional<std::string> open_last_message(std::string_view rendering, std::string_view content);

}  // namespace minfer
