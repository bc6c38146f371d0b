// Where clang and the stand-in library are, and the command lines that turn MSL into object code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl {

enum class Build : uint8_t { Plain, Checked };

struct Toolchain {
    std::string clang;                  // the C++ compiler
    std::filesystem::path stubs;        // metal_stdlib and its relatives
    std::filesystem::path root;         // the folder above softmetal/
    std::filesystem::path precompiled;  // where preludes compiled ahead lie
    std::string builtins;               // compiler-rt's archive; "" when there is none
    std::string pass_plugin;            // clang's plugin for kernels, exec/pass

    // Paths fixed when softmetal was configured; SOFTMETAL_CLANG names another compiler.
    static Toolchain configured();

    std::filesystem::path library() const { return root / "softmetal/msl/stdlib"; }
    std::filesystem::path strict_library() const { return root / "softmetal/msl/strict/library"; }

    std::vector<std::filesystem::path> library_files() const;

    // Changes when the compiler, the library or softmetal does.
    uint64_t fingerprint() const;

    std::vector<std::string> preprocess(const std::filesystem::path& source,
                                        const std::filesystem::path& folder,
                                        const CompileOptions& options) const;
    // `prelude` is what precompiled_prelude() returned.
    std::vector<std::string> compile(Build build, bool fast_math,
                                     const std::filesystem::path& prelude,
                                     const std::filesystem::path& translated,
                                     const std::filesystem::path& object) const;

    // PTX text for NVIDIA GPUs instead.
    std::vector<std::string> compile_to_ptx(bool fast_math, const std::filesystem::path& translated,
                                            const std::filesystem::path& ptx) const;

    // The library compiled ahead for these flags; made now when it is missing. Falls back to the
    // header itself where nothing can be written.
    Result<std::filesystem::path> precompiled_prelude(Build build, bool fast_math) const;

    // Whether a compiler named by SOFTMETAL_CLANG is a clang that will do; asked once in a process.
    Result<> check() const;

    // What is said when `clang` cannot be started.
    std::string missing(const std::string& why) const;

    // All flags that decide what is generated.
    std::vector<std::string> language_flags(Build build, bool fast_math) const;
};

}  // namespace softmetal::msl
