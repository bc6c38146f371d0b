#include "softmetal/msl/strict/strict.h"

#include <utility>

#include "softmetal/msl/log.h"
#include "softmetal/msl/strict/diagnostics.h"
#include "softmetal/msl/strict/outline.h"
#include "softmetal/msl/strict/prepare.h"
#include "softmetal/msl/strict/recursion.h"
#include "softmetal/msl/strict/rules.h"

namespace softmetal::msl::strict {
namespace {

// IR is written only for the calls in it, without which recursion does not show.
std::vector<std::string> command(const Toolchain& tools, const std::filesystem::path& prepared,
                                 const std::filesystem::path& ir) {
    return {tools.clang, "-x", "clcpp", "-cl-std=clc++2021", "-target", "x86_64-linux-gnu",
            // The library is ours, not OpenCL's.
            "-cl-no-stdinc", "-I" + tools.root.string(), "-include",
            (tools.strict_library() / "library.h").string(),
            // Swizzles are properties.
            "-fdeclspec", "-Wpre-c++17-compat", "-Wc++20-extensions", "-Wc++20-designator",
            "-Wc++23-extensions", "-fno-caret-diagnostics", "-fno-color-diagnostics",
            "-fno-elide-type", "-ferror-limit=0", "-S", "-emit-llvm", "-O0", "-Xclang",
            "-disable-llvm-passes", "-femit-all-decls", "-gline-tables-only", prepared.string(),
            "-o", ir.string()};
}

}  // namespace

std::optional<Reading> read(std::string_view preprocessed) {
    const auto tokens = tokenize(preprocessed);
    if (!tokens.can_be_walked()) return std::nullopt;
    const auto outline = outline_of(tokens);
    Reading out;
    check_rules(tokens, outline, out.broken_rules);
    check_pointers(tokens, outline, out.broken_rules);
    out.prepared = prepared(tokens, outline);
    return out;
}

Result<Check> Check::start(const Toolchain& tools, std::string_view preprocessed,
                           std::string_view source, const std::string& name) {
    Check check(tools, source, name);
    auto reading = read(preprocessed);
    if (!reading) return check;
    auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    const auto path = temporary.path() / "prepared.clcpp";
    SOFTMETAL_TRY(write_file(path, reading->prepared));
    auto process = Process::start(command(tools, path, temporary.path() / "prepared.ll"));
    if (!process) return fail(tools.missing(process.error()));
    check.run_.emplace(Run{std::move(*reading), std::move(temporary), std::move(*process)});
    return check;
}

Result<> Check::finish() {
    if (!run_) return {};
    const auto output = run_->process.wait();
    auto diagnostics = std::move(run_->reading.broken_rules);
    Lines known;
    for (const auto& diagnostic : diagnostics)
        known.insert({diagnostic.place.file, diagnostic.place.line});
    const auto said = in_metal_words(output.error, known);
    const Log log(source_, name_, tools_.root / "softmetal/msl");
    if (output.status == 0) {
        const auto ir = SOFTMETAL_TRY(read_file(run_->temporary.path() / "prepared.ll"));
        check_recursion(ir, diagnostics);
    }
    auto text = log.render(diagnostics) + log.rewrite(said, run_->reading.prepared);
    if (text.find(": error: ") != std::string::npos) return fail(std::move(text));
    // An end without a word: clang itself broke.
    if (output.status > 1 && said.empty())
        return fail("the strict check of '" + name_ + "' did not end well: " + output.error);
    return {};
}

}  // namespace softmetal::msl::strict
