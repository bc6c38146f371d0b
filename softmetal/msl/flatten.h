// One self-contained source out of a file and what it includes: newLibraryWithSource has no include
// path. Macros and system headers stay as they are, so that any Metal compiler takes the result.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "softmetal/base/result.h"

namespace softmetal::msl {

// Line directives keep diagnostics at the files' own lines. A file with `#pragma once` gets a guard
// instead, since the pragma says nothing about text in the middle of another file.
Result<std::string> flatten(const std::vector<std::filesystem::path>& files,
                            const std::vector<std::filesystem::path>& include_folders);

}  // namespace softmetal::msl
