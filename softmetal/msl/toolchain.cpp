#include "softmetal/msl/toolchain.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include "softmetal/msl/hash.h"
#include "softmetal/msl/paths.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"

namespace softmetal::msl {
namespace {

namespace fs = std::filesystem;

// Results must not depend on the machine that compiles: one instruction set per architecture.
#if defined(__x86_64__)
constexpr const char* kMachine = "-march=x86-64-v3";
#elif defined(__aarch64__)
constexpr const char* kMachine = "-march=armv8.2-a+fp16";
#endif

constexpr int kOldestClang = 19;

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

// A program named without a slash is looked up as the shell would.
fs::path in_path(const std::string& program) {
    if (program.find('/') != std::string::npos) return program;
    const char* path = std::getenv("PATH");
    std::string_view left = path != nullptr ? path : "";
    while (!left.empty()) {
        const size_t colon = left.find(':');
        const auto candidate = fs::path(left.substr(0, colon)) / program;
        if (access(candidate.c_str(), X_OK) == 0) return candidate;
        left.remove_prefix(colon == std::string_view::npos ? left.size() : colon + 1);
    }
    return program;
}

uint64_t compute_fingerprint(const Toolchain& tools) {
    uint64_t out = hash(SOFTMETAL_VERSION);
    for (const auto& file : tools.library_files()) {
        const auto text = read_file(file);
        out = hash(text ? *text : "", hash(file.string(), out));
    }
    // By what it is alone: every build folder has one, and most have the same.
    const auto plugin = read_file(tools.pass_plugin);
    out = hash(plugin ? *plugin : "", out);
    // The compiler by its size and date: asking it for its version would cost a process.
    const auto compiler = in_path(tools.clang);
    std::error_code ignored;
    const auto size = fs::file_size(compiler, ignored);
    const auto time = fs::last_write_time(compiler, ignored).time_since_epoch().count();
    return hash(compiler.string() + " " + std::to_string(size) + " " + std::to_string(time), out);
}

// Preludes of earlier versions of the library; one hour spares those that others still use.
void forget_old_preludes(const fs::path& folder) {
    std::error_code ignored;
    const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.last_write_time(ignored) < limit) fs::remove(entry.path(), ignored);
    }
}

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

std::vector<fs::path> Toolchain::library_files() const {
    std::vector<fs::path> files = {root / "softmetal/exec/abi.h"};
    std::error_code ignored;
    for (const auto& folder : {library(), strict_library()})
        for (const auto& entry : fs::recursive_directory_iterator(folder, ignored))
            if (entry.path().extension() == ".h") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

uint64_t Toolchain::fingerprint() const {
    static std::mutex mutex;
    static std::map<std::string, uint64_t> known;  // by compiler: the rest is fixed in a process
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = known.try_emplace(clang, 0);
    if (is_new) found->second = compute_fingerprint(*this);
    return found->second;
}

std::string Toolchain::missing(const std::string& why) const {
    return "softmetal compiles Metal source with clang, but '" + clang + "' does not run (" + why +
           "): install clang-19, or set SOFTMETAL_CLANG to a clang++";
}

Result<> Toolchain::check() const {
    if (clang == SOFTMETAL_CLANG_PATH) return {};  // known since softmetal was configured
    static std::mutex mutex;
    static std::set<std::string> known;
    const std::lock_guard lock(mutex);
    if (known.contains(clang)) return {};
    auto process = Process::start({clang, "--version"});
    if (!process) return fail(missing(process.error()));
    const auto output = process->wait();
    if (output.status == 127) return fail(missing("exit status 127"));
    const auto said = "SOFTMETAL_CLANG is '" + clang + "', which ";
    if (output.status != 0)
        return fail(said + "failed with status " + std::to_string(output.status) +
                    " when asked for its version");
    constexpr std::string_view kBefore = "clang version ";
    const size_t at = output.out.find(kBefore);
    const int version =
        at == std::string::npos ? 0 : std::atoi(output.out.c_str() + at + kBefore.size());
    if (version < kOldestClang)
        return fail(said + "is not clang " + std::to_string(kOldestClang) + " or newer");
    known.insert(clang);
    return {};
}

std::vector<std::string> Toolchain::preprocess(const fs::path& source, const fs::path& folder,
                                               const CompileOptions& options) const {
    // MSL is C++14 without the host's macros (-undef), but with those every clang defines.
    std::vector<std::string> command = {clang,
                                        "-E",
                                        "-x",
                                        "c++",
                                        "-std=gnu++14",
                                        "-undef",
                                        "-nostdinc",
                                        "-fno-color-diagnostics",
                                        "-fno-caret-diagnostics",
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
    if (options.fast_math) command.emplace_back("-D__FAST_MATH__=1");
    for (const auto& [name, value] : options.macros) command.push_back("-D" + name + "=" + value);
    if (!folder.empty()) append(command, {"-iquote", folder.string()});
    for (const auto& include : options.include_folders) command.push_back("-I" + include.string());
    // Headers whose text becomes part of the program, and those that only bring macros.
    append(command, {"-isystem", (root / "softmetal/msl/include").string(), "-isystem",
                     stubs.string(), source.string()});
    return command;
}

std::vector<std::string> Toolchain::language_flags(Build build, bool fast_math) const {
    std::vector<std::string> flags = {
        "-std=gnu++20", "-nostdinc", "-fdeclspec", "-O2", "-fno-exceptions", "-fno-rtti",
        "-fno-threadsafe-statics", "-fno-math-errno", "-fno-strict-aliasing", "-fsigned-char",
        "-fvisibility=hidden", "-fPIC", "-fno-plt", "-fno-stack-protector", kMachine,
        fast_math ? "-ffp-contract=fast-honor-pragmas" : "-ffp-contract=off",
        // An access through a null pointer stays one, to be reported.
        "-fno-delete-null-pointer-checks",
        // A float too large for an integer becomes the nearest one, as GPUs have it.
        "-fno-strict-float-cast-overflow",
        // half and bfloat round after every operation, as GPUs do.
        "-Xclang", "-ffloat16-excess-precision=none", "-Xclang",
        "-fbfloat16-excess-precision=none"};
    if (build == Build::Checked) {
        // What the pass sees must be the accesses of the source, under the names that the source
        // gives its files (the folder "." keeps clang from splitting them).
        append(flags, {"-fno-vectorize", "-fno-slp-vectorize", "-gline-tables-only",
                       "-fdebug-compilation-dir=.", "-DSM_IS_CHECKED=1"});
    }
    return flags;
}

std::vector<std::string> Toolchain::compile(Build build, bool fast_math, const fs::path& prelude,
                                            const fs::path& translated,
                                            const fs::path& object) const {
    std::vector<std::string> command = {clang, "-x", "c++"};
    append(command, language_flags(build, fast_math));
    append(command,
           {"-fno-caret-diagnostics", "-fno-color-diagnostics", "-fno-elide-type",
            "-fno-spell-checking", "-fno-diagnostics-show-option", "-ferror-limit=40",
            "-Wno-everything", "-Wreturn-type", "-Wuninitialized", "-Wsometimes-uninitialized",
            "-Warray-bounds", "-Wshift-count-overflow", "-Wdivision-by-zero", "-Wunused-value"});
    if (prelude.extension() == ".pch")
        append(command, {"-include-pch", prelude.string()});
    else
        append(command, {"-I" + root.string(), "-include", prelude.string()});
    command.push_back("-fpass-plugin=" + pass_plugin);
    // No C library of its own: the executor is all a kernel needs.
    append(command, {"-shared", "-nostdlib", SOFTMETAL_LINKER_FLAG, translated.string(), "-o",
                     object.string()});
    if (!builtins.empty()) append(command, {"-x", "none", builtins});
    return command;
}

std::vector<std::string> Toolchain::compile_to_ptx(bool fast_math, const fs::path& translated,
                                                   const fs::path& ptx) const {
    // No CUDA toolkit: neither its headers nor its libraries are used. The PTX version is the first
    // that knows sm_90 and matrix products.
    std::vector<std::string> command = {
        clang,
        "-x",
        "cuda",
        "--cuda-device-only",
        "-nocudainc",
        "-nocudalib",
        "--cuda-gpu-arch=sm_90",
        "--cuda-feature=+ptx80",
        "-S",
        "-std=gnu++20",
        "-nostdinc",
        "-fdeclspec",
        "-O3",
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-strict-aliasing",
        "-fsigned-char",
        "-fno-math-errno",
        "-w",
        "-fno-caret-diagnostics",
        "-fno-color-diagnostics",
        "-fno-elide-type",
        "-fno-spell-checking",
        "-ferror-limit=40",
        fast_math ? "-ffp-contract=fast-honor-pragmas" : "-ffp-contract=off"};
    append(command, {"-I" + root.string(), "-include", (library() / "prelude_nvptx.h").string(),
                     translated.string(), "-o", ptx.string()});
    return command;
}

Result<> precompile_library() {
    const auto tools = Toolchain::configured();
    SOFTMETAL_TRY(tools.check());
    for (const auto build : {Build::Plain, Build::Checked})
        for (const bool fast_math : {false, true})
            SOFTMETAL_TRY(tools.precompiled_prelude(build, fast_math));
    return {};
}

Result<fs::path> Toolchain::precompiled_prelude(Build build, bool fast_math) const {
    const auto header = library() / "prelude.h";
    const auto flags = language_flags(build, fast_math);
    uint64_t key = fingerprint();
    for (const auto& flag : flags) key = hash(flag, key);
    const auto wanted = precompiled / (hex(key) + ".pch");
    std::error_code error;
    if (fs::exists(wanted, error)) return wanted;
    fs::create_directories(precompiled, error);
    if (access(precompiled.c_str(), W_OK) != 0) return header;

    forget_old_preludes(precompiled);
    // Under a name of our own first: others may be doing the same.
    static std::atomic<uint64_t> number = 0;
    const auto mine = precompiled / (hex(key) + "-" + std::to_string(getpid()) + "-" +
                                     std::to_string(number.fetch_add(1)) + ".tmp");
    std::vector<std::string> command = {clang, "-x", "c++-header"};
    append(command, flags);
    append(command, {"-w", "-Xclang", "-fno-pch-timestamp", "-I" + root.string(), header.string(),
                     "-o", mine.string()});
    auto process = Process::start(command);
    if (!process) return fail(missing(process.error()));
    const auto output = process->wait();
    if (output.status != 0) {
        fs::remove(mine, error);
        return fail("the Metal standard library does not compile:\n" + output.error);
    }
    fs::rename(mine, wanted, error);
    if (error) return fail("cannot rename '" + mine.string() + "': " + error.message());
    return wanted;
}

}  // namespace softmetal::msl
