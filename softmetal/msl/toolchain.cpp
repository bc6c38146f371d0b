#include "softmetal/msl/toolchain.h"

#include <cstdlib>

#include "softmetal/msl/paths.h"

namespace softmetal::msl {
namespace {

void append(std::vector<std::string>& to, std::initializer_list<std::string> more) {
    to.insert(to.end(), more);
}

// Results must not depend on the machine that compiles: one instruction set per architecture.
#if defined(__x86_64__)
constexpr const char* kMachine = "-march=x86-64-v3";
#elif defined(__aarch64__)
constexpr const char* kMachine = "-march=armv8.2-a+fp16";
#endif

}  // namespace

Toolchain Toolchain::configured() {
    Toolchain out;
    const char* other = std::getenv("SOFTMETAL_CLANG");
    out.clang = other != nullptr && *other != '\0' ? other : SOFTMETAL_CLANG_PATH;
    out.stubs = SOFTMETAL_STUBS_PATH;
    out.root = SOFTMETAL_ROOT_PATH;
    out.precompiled = SOFTMETAL_PRECOMPILED_PATH;
    out.builtins = SOFTMETAL_BUILTINS_PATH;
    out.pass_plugin = SOFTMETAL_PASS_PATH;
    return out;
}

std::vector<std::string> Toolchain::preprocess(const std::filesystem::path& source,
                                               const std::filesystem::path& folder,
                                               const CompileOptions& options) const {
    // MSL is C++14 without the host's macros (-undef), but with those every clang defines.
    std::vector<std::string> command = {clang,
                                        "-E",
                                        "-x",
                                        "c++",
                                        "-std=gnu++14",
                                        "-undef",
                                        "-nostdinc",
                                        "-D__METAL__=1",
                                        "-D__METAL_VERSION__=310",
                                        "-D__METAL_MACOS__=1",
                                        "-D__HAVE_BFLOAT__=1",
                                        "-D__clang__=1",
                                        "-D__clang_major__=16",
                                        "-D__clang_minor__=0",
                                        "-D__clang_patchlevel__=0",
                                        "-D__GNUC__=4",
                                        "-D__CHAR_BIT__=8",
                                        "-D__LITTLE_ENDIAN__=1",
                                        "-D__LP64__=1"};
    if (options.fast_math) command.push_back("-D__FAST_MATH__=1");
    for (const auto& [name, value] : options.macros) command.push_back("-D" + name + "=" + value);
    if (!folder.empty()) append(command, {"-iquote", folder.string()});
    for (const auto& include : options.include_folders) command.push_back("-I" + include.string());
    append(command, {"-isystem", stubs.string(), source.string()});
    return command;
}

std::vector<std::string> Toolchain::language_flags(Build build, bool fast_math) const {
    std::vector<std::string> flags = {
        "-x", "c++", "-std=gnu++20", "-nostdinc", "-fdeclspec", "-O2", "-fno-exceptions",
        "-fno-rtti", "-fno-threadsafe-statics", "-fno-math-errno", "-fno-strict-aliasing",
        "-fsigned-char", "-fvisibility=hidden", "-fPIC", "-fno-plt", "-fno-stack-protector",
        fast_math ? "-ffp-contract=fast" : "-ffp-contract=off",
        // half and bfloat round after every operation, as GPUs do.
        "-Xclang", "-ffloat16-excess-precision=none", "-Xclang", "-fbfloat16-excess-precision=none",
        "-w"};
    flags.emplace_back(kMachine);
    if (build == Build::Checked) {
        // What the pass sees must be the accesses of the source.
        append(flags, {"-fno-vectorize", "-fno-slp-vectorize", "-gline-tables-only"});
        flags.push_back(pass_plugin.empty() ? "-DSM_IS_CHECKED=0" : "-DSM_IS_CHECKED=1");
    }
    return flags;
}

std::filesystem::path Toolchain::precompiled_prelude(Build build, bool fast_math) const {
    const std::string name =
        std::string(build == Build::Checked ? "checked" : "plain") + (fast_math ? "-fast" : "");
    return precompiled / (name + ".pch");
}

std::vector<std::string> Toolchain::compile(Build build, bool fast_math,
                                            const std::filesystem::path& translated,
                                            const std::filesystem::path& object) const {
    std::vector<std::string> command = {clang};
    const auto flags = language_flags(build, fast_math);
    command.insert(command.end(), flags.begin(), flags.end());
    append(command, {"-fno-caret-diagnostics", "-fno-color-diagnostics", "-ferror-limit=40"});
    if (std::filesystem::exists(precompiled_prelude(build, fast_math)))
        append(command, {"-include-pch", precompiled_prelude(build, fast_math).string()});
    else
        append(command, {"-I" + root.string(), "-include", prelude().string()});
    if (build == Build::Checked && !pass_plugin.empty())
        command.push_back("-fpass-plugin=" + pass_plugin);
    // No C library of its own: the executor is all a kernel needs.
    append(command, {"-shared", "-nostdlib", SOFTMETAL_LINKER_FLAG, translated.string(), "-o",
                     object.string()});
    if (!builtins.empty()) append(command, {"-x", "none", builtins});
    return command;
}

}  // namespace softmetal::msl
