// The steps of a compilation that `mslc -E` and `mslc -S` show.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl {

// Arguments as of compile().
Result<std::string> preprocessed(std::string_view source, const std::string& name,
                                 const std::filesystem::path& folder,
                                 const CompileOptions& options);
Result<std::string> translated(std::string_view source, const std::string& name,
                               const std::filesystem::path& folder, const CompileOptions& options);

}  // namespace softmetal::msl
