// The steps of a compilation, for those who want to see what is between them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"
#include "softmetal/msl/translate/translate.h"

namespace softmetal::msl {

struct Preprocessed {
    std::string text;      // line markers name the user's files only
    std::string warnings;  // the log so far
};
// Arguments as of compile().
Result<Preprocessed> preprocess(std::string_view source, const std::string& name,
                                const std::filesystem::path& folder, const CompileOptions& options);

struct Translated {
    std::string text;                  // C++
    std::vector<std::string> kernels;  // names, in the order of the text's entries
};
Result<Translated> translate(const Preprocessed& preprocessed, std::string_view source,
                             const std::string& name, Target target);

// Compiles the stand-in library ahead for every way of compiling, where that is not done yet.
Result<> precompile_library();

// The files of the stand-in library: what a compiled unit depends on beside its own.
std::vector<std::string> library_files();

}  // namespace softmetal::msl
