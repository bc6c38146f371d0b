// The steps of a compilation that `mslc -E` and `mslc -S` show.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl {

// Arguments as of compile().
Result<std::string> preprocessed(std::string_view source, const std::string& name,
                                 const std::filesystem::path& folder,
                                 const CompileOptions& options);
Result<std::string> translated(std::string_view source, const std::string& name,
                               const std::filesystem::path& folder, const CompileOptions& options);

// The files of the stand-in library: what a compiled unit depends on beside its own.
std::vector<std::string> library_files();

}  // namespace softmetal::msl
