#pragma once
// Results that go to a file appear under their name complete or not at all.

#include <string>
#include <string_view>

#include "base/result.h"

namespace minfer {

// Through a temporary file in the same folder and a rename.
Result<> write_file(const std::string& path, std::string_view content);

}  // namespace minfer
