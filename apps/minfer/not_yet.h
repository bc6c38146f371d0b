#pragma once
// Names this program is going to have and this build has not: they are answered with that fact, not
// with "unknown".

#include <string_view>

namespace minfer {

bool is_flag_not_yet(std::string_view name);  // "--grammar", "-md"
bool is_command_not_yet(std::string_view name);

}  // namespace minfer
