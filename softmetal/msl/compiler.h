// MSL source in, loadable kernel modules out: what the `mslc` command and newLibraryWithSource
// share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softmetal/base/result.h"

namespace softmetal::msl {

struct CompileOptions {
    std::vector<std::pair<std::string, std::string>> macros;  // name, value
    std::vector<std::filesystem::path> include_folders;       // beside the source's own
    bool fast_math = false;
    bool strict = false;  // also refuse what Apple's compiler refuses
    bool checked = true;  // build the checked module beside the plain one
    bool cache = true;    // look in, and add to, the user's cache; SOFTMETAL_CACHE=off wins
};

// One MSL translation unit, compiled: two shared objects made from the same source.
struct CompiledUnit {
    std::string plain;    // ELF bytes
    std::string checked;  // ELF bytes; empty when CompileOptions::checked was off

    // Not part of an .smlib file:
    std::string warnings;               // the compiler's log
    std::vector<std::string> includes;  // files the source was made of, beside itself
    std::vector<std::string> kernels;   // their names, as far as the source spells them out
};

// What an .smlib file holds.
struct CompiledLibrary {
    std::vector<CompiledUnit> units;
};

// Compiles one source text. `name` stands in diagnostics and in __FILE__ ("program_source" for
// source handed over at run time); includes are looked up in `folder` first (empty: nowhere).
// The error is the whole compiler log, in the form FILE:LINE:COLUMN: error: text.
Result<CompiledUnit> compile(std::string_view source, const std::string& name,
                             const std::filesystem::path& folder, const CompileOptions& options);

// The same for NVIDIA GPUs, sm_90 and later: PTX text. Its first lines say which entry is which
// kernel: "// sm_kernel_0: NAME".
Result<std::string> compile_to_ptx(std::string_view source, const std::string& name,
                                   const std::filesystem::path& folder,
                                   const CompileOptions& options);

// The bytes of an .smlib file and back. Reading checks every length before it is used.
std::string serialize(const CompiledLibrary& library);
Result<CompiledLibrary> deserialize(std::string_view bytes);

}  // namespace softmetal::msl
