#pragma once
// Where the library says things: a sink the program hands in. Nothing under src/ prints by itself.

#include <functional>
#include <string_view>

namespace minfer {

enum class LogLevel : unsigned char { Debug, Info, Warning };

using LogSink = std::function<void(LogLevel, std::string_view line)>;

}  // namespace minfer
