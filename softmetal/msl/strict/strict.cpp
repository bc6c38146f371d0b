#include "softmetal/msl/strict/strict.h"

#include <set>
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

Check::Check(const Toolchain& tools, std::string prepared, std::string_view source,
             std::string name, std::vector<Diagnostic> broken_rules, TemporaryFolder temporary,
             Process process)
    : tools_(tools),
      prepared_(std::move(prepared)),
      source_(source),
      name_(std::move(name)),
      broken_rules_(std::move(broken_rules)),
      temporary_(std::move(temporary)),
      process_(std::move(process)) {}

Result<Check> Check::start(const Toolchain& tools, std::string_view preprocessed,
                           std::string_view source, const std::string& name) {
    const auto tokens = tokenize(preprocessed);
    const auto outline = outline_of(tokens);
    std::vector<Diagnostic> broken_rules;
    check_rules(tokens, outline, broken_rules);
    check_pointers(tokens, outline, broken_rules);
    auto text = prepared(tokens, outline);
    auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    const auto path = temporary.path() / "prepared.clcpp";
    SOFTMETAL_TRY(write_file(path, text));
    auto process = Process::start(command(tools, path, temporary.path() / "prepared.ll"));
    if (!process) return fail(tools.missing(process.error()));
    return Check(tools, std::move(text), source, name, std::move(broken_rules),
                 std::move(temporary), std::move(*process));
}

Result<> Check::finish() {
    const auto output = process_.wait();
    Lines known;
    for (const auto& diagnostic : broken_rules_)
        known.insert({diagnostic.place.file, diagnostic.place.line});
    const auto said = in_metal_words(output.error, known);
    const Log log(source_, name_, tools_.root / "softmetal/msl");
    auto diagnostics = broken_rules_;
    if (output.status == 0) {
        const auto ir = SOFTMETAL_TRY(read_file(temporary_.path() / "prepared.ll"));
        check_recursion(ir, diagnostics);
    }
    auto text = log.render(diagnostics) + log.rewrite(said, prepared_);
    if (text.find(": error: ") != std::string::npos) return fail(std::move(text));
    // An end without a word: clang itself broke.
    if (output.status > 1 && said.empty())
        return fail("the strict check of '" + name_ + "' did not end well: " + output.error);
    return {};
}

}  // namespace softmetal::msl::strict
