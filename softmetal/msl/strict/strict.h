// `mslc --strict`: a second, syntax-only clang run that refuses what Apple's Metal compiler refuses.
//
// The plain run compiles MSL flat (address spaces stripped, vectors as class templates), so it
// accepts much that Metal does not. This run keeps the user's tokens, lets clang itself enforce
// address spaces and vector conversions, and declares Metal's library without defining it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl::strict {

// Checks one source text; arguments as for msl::compile(). The error is the compiler log.
Result<> check(std::string_view source, const std::string& name,
               const std::filesystem::path& folder, const CompileOptions& options);

}  // namespace softmetal::msl::strict
