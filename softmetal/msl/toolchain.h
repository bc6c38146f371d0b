// Where clang and the stand-in library are, and the command lines that turn MSL into object code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl {

enum class Build : uint8_t { Plain, Checked, Ptx };

struct Toolchain {
    std::string clang;                  // the C++ compiler
    std::filesystem::path stubs;        // metal_stdlib and its relatives
    std::filesystem::path root;         // the folder above softmetal/
    std::filesystem::path precompiled;  // metal.h compiled ahead
    std::string builtins;               // compiler-rt's archive; "" when there is none
    std::string pass_plugin;            // inserts the checks; "" when it was not built

    // Paths fixed when softmetal was configured; SOFTMETAL_CLANG names another compiler.
    static Toolchain configured();

    std::vector<std::string> preprocess(const std::filesystem::path& source,
                                        const std::filesystem::path& folder,
                                        const CompileOptions& options) const;
    // Flags that decide what the prelude and the unit mean: a precompiled prelude fits one set of
    // them.
    std::vector<std::string> language_flags(Build build, bool fast_math) const;
    std::vector<std::string> compile(Build build, bool fast_math,
                                     const std::filesystem::path& translated,
                                     const std::filesystem::path& object) const;
    std::filesystem::path precompiled_prelude(Build build, bool fast_math) const;
    std::filesystem::path library() const { return root / "softmetal/msl/stdlib"; }
    std::filesystem::path prelude() const { return library() / "prelude.h"; }
};

}  // namespace softmetal::msl
