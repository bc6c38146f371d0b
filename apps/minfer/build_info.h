#pragma once
// Which build this is.

#include <string_view>

namespace minfer {

extern const std::string_view kVersion;  // "0.1.0"
extern const std::string_view kCommit;   // "1a2b3c4d5", or "unknown" outside a git checkout

}  // namespace minfer
