// One source text through preprocessor, translator and compiler.
#include <algorithm>

#include "softmetal/msl/compiler.h"
#include "softmetal/msl/log.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"
#include "softmetal/msl/toolchain.h"
#include "softmetal/msl/translate/translate.h"

namespace softmetal::msl {
namespace {

// The compiler could not even be started.
std::string missing_compiler(const Toolchain& tools, const std::string& why) {
    return "softmetal needs clang to compile Metal source, and '" + tools.clang +
           "' does not run (" + why + "); install clang-19 or set SOFTMETAL_CLANG to a clang++";
}

// Line 1 of the temporary file is a marker, so that the compiler speaks of `name` only.
std::string with_name(std::string_view source, const std::string& name) {
    std::string quoted;
    for (const char c : name) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return "# 1 \"" + quoted + "\"\n" + std::string(source);
}

// Drops line markers that name the temporary file and our headers, and the blank lines these left.
std::string only_the_users(std::string_view text, const std::vector<std::string>& own_folders) {
    std::string out;
    bool is_own = false;
    while (!text.empty()) {
        const size_t newline = text.find('\n');
        const auto line = text.substr(0, newline);
        text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
        const size_t open = line.find('"'), close = line.rfind('"');
        if (line.starts_with("# ") && open != close) {
            const auto file = line.substr(open + 1, close - open - 1);
            is_own = file.starts_with('<') ||
                     std::any_of(own_folders.begin(), own_folders.end(),
                                 [&](const auto& folder) { return file.starts_with(folder); });
            if (!is_own) out += std::string(line.substr(0, close + 1)) + "\n";
        } else if (!is_own) {
            out += std::string(line) + "\n";
        }
    }
    return out;
}

Result<std::string> preprocess(const Toolchain& tools, const TemporaryFolder& temporary,
                               std::string_view source, const std::string& name,
                               const std::filesystem::path& folder, const CompileOptions& options) {
    const auto path = temporary.path() / "source.metal";
    SOFTMETAL_TRY(write_file(path, with_name(source, name)));
    auto process = Process::start(tools.preprocess(path, folder, options));
    if (!process) return fail(missing_compiler(tools, process.error()));
    auto output = process->wait();
    if (output.status == 127 && output.out.empty())
        return fail(missing_compiler(tools, "exit status 127"));
    if (output.status != 0) return fail(Log(source, name).rewrite(output.error, ""));
    const auto own = std::vector<std::string>{temporary.path().string(), tools.stubs.string(),
                                              tools.library().string()};
    return only_the_users(output.out, own);
}

struct Objects {
    std::string plain, checked;
};

Result<Objects> compile_both(const Toolchain& tools, const TemporaryFolder& temporary,
                             const std::string& translated, const Log& log,
                             const CompileOptions& options) {
    const auto path = temporary.path() / "translated.cpp";
    SOFTMETAL_TRY(write_file(path, translated));
    const auto plain_path = temporary.path() / "plain.so",
               checked_path = temporary.path() / "checked.so";
    auto plain = Process::start(tools.compile(Build::Plain, options.fast_math, path, plain_path));
    if (!plain) return fail(missing_compiler(tools, plain.error()));
    ProcessOutput checked_output;
    if (options.checked) {
        auto checked =
            Process::start(tools.compile(Build::Checked, options.fast_math, path, checked_path));
        if (!checked) return fail(missing_compiler(tools, checked.error()));
        checked_output = checked->wait();
    }
    const auto output = plain->wait();
    if (output.status != 0) return fail(log.rewrite(output.error, translated));
    if (checked_output.status != 0) return fail(log.rewrite(checked_output.error, translated));
    Objects out;
    out.plain = SOFTMETAL_TRY(read_file(plain_path));
    if (options.checked) out.checked = SOFTMETAL_TRY(read_file(checked_path));
    return out;
}

}  // namespace

Result<std::string> preprocessed(std::string_view source, const std::string& name,
                                 const std::filesystem::path& folder,
                                 const CompileOptions& options) {
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    return preprocess(Toolchain::configured(), temporary, source, name, folder, options);
}

Result<std::string> translated(std::string_view source, const std::string& name,
                               const std::filesystem::path& folder, const CompileOptions& options) {
    const auto text = SOFTMETAL_TRY(preprocessed(source, name, folder, options));
    auto translation = translate(text);
    if (!translation.errors.empty())
        return fail(Log(source, name).render(translation.errors, text));
    return std::move(translation.text);
}

Result<CompiledUnit> compile(std::string_view source, const std::string& name,
                             const std::filesystem::path& folder, const CompileOptions& options) {
    const auto text = SOFTMETAL_TRY(translated(source, name, folder, options));
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    auto objects = SOFTMETAL_TRY(
        compile_both(Toolchain::configured(), temporary, text, Log(source, name), options));
    return CompiledUnit{std::move(objects.plain), std::move(objects.checked)};
}

}  // namespace softmetal::msl
