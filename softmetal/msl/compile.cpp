// One source text through preprocessor, translator and compiler.
#include <algorithm>
#include <optional>

#include "softmetal/msl/cache.h"
#include "softmetal/msl/compiler.h"
#include "softmetal/msl/hash.h"
#include "softmetal/msl/log.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"
#include "softmetal/msl/strict/strict.h"
#include "softmetal/msl/toolchain.h"
#include "softmetal/msl/translate/tokens.h"
#include "softmetal/msl/translate/translate.h"
#include "softmetal/msl/undefined.h"

namespace softmetal::msl {

namespace fs = std::filesystem;

namespace {

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

// What preprocessing leaves unexpanded: the argument of `#pragma unroll N` and `#pragma clang
// loop`. Those of the preprocessed text that may hold a macro, as [begin, end) of the argument.
std::vector<std::pair<size_t, size_t>> pragma_arguments(std::string_view text) {
    std::vector<std::pair<size_t, size_t>> out;
    for (const auto& pragma : tokenize(text).pragmas) {
        size_t at = std::string_view::npos;
        for (const std::string_view word :
             {"unroll", "unroll_count", "vectorize_width", "interleave_count"})
            if (const size_t found = pragma.text.rfind(word); found != std::string_view::npos)
                at = std::max(at == std::string_view::npos ? 0 : at, found + word.size());
        if (at == std::string_view::npos) continue;
        const auto argument = pragma.text.substr(at);
        const auto words = tokenize(argument);
        const bool may_expand =
            std::any_of(words.tokens.begin(), words.tokens.end(), [](const Token& token) {
                return token.is_word() && !token.is("full") && !token.is("enable") &&
                       !token.is("disable");
            });
        const auto begin = static_cast<size_t>(argument.data() - text.data());
        if (may_expand) out.emplace_back(begin, begin + argument.size());
    }
    return out;
}

// Expands them in a second run, which sees the macros as they are at the end of the source.
Result<std::string> expand_pragmas(const Toolchain& tools, const fs::path& path,
                                   const fs::path& folder, std::string text,
                                   const CompileOptions& options) {
    constexpr std::string_view kMark = "softmetal_pragma_argument";
    const auto arguments = pragma_arguments(text);
    if (arguments.empty()) return text;
    auto source = SOFTMETAL_TRY(read_file(path));
    for (const auto& [begin, end] : arguments)
        source += "\n" + std::string(kMark) + text.substr(begin, end - begin) + "\n";
    SOFTMETAL_TRY(write_file(path, source));
    auto process = SOFTMETAL_TRY(Process::start(tools.preprocess(path, folder, options)));
    const auto output = process.wait().out;
    std::string out;
    size_t at = 0, mark = 0;
    for (const auto& [begin, end] : arguments) {
        mark = output.find(kMark, mark);
        if (mark == std::string::npos) return text;
        mark += kMark.size();
        out += text.substr(at, begin - at) + output.substr(mark, output.find('\n', mark) - mark);
        at = end;
    }
    return out + text.substr(at);
}

Result<std::string> preprocess(const Toolchain& tools, const TemporaryFolder& temporary,
                               std::string_view source, const std::string& name,
                               const fs::path& folder, const CompileOptions& options) {
    const auto path = temporary.path() / "source.metal";
    SOFTMETAL_TRY(write_file(path, with_name(source, name)));
    auto process = Process::start(tools.preprocess(path, folder, options));
    if (!process) return fail(tools.missing(process.error()));
    auto output = process->wait();
    if (output.status == 127 && output.out.empty()) return fail(tools.missing("exit status 127"));
    if (output.status != 0)
        return fail(Log(source, name, tools.library()).rewrite(output.error, ""));
    const auto own = std::vector<std::string>{temporary.path().string(), tools.stubs.string(),
                                              tools.library().string()};
    return expand_pragmas(tools, path, folder, only_the_users(output.out, own), options);
}

// One clang at work on the translated source.
struct Compilation {
    fs::path object;
    Process process;
};

Result<Compilation> start(const Toolchain& tools, Build build, const CompileOptions& options,
                          const fs::path& translated) {
    const auto prelude = SOFTMETAL_TRY(tools.precompiled_prelude(build, options.fast_math));
    const auto object =
        translated.parent_path() / (build == Build::Plain ? "plain.so" : "checked.so");
    auto process =
        Process::start(tools.compile(build, options.fast_math, prelude, translated, object));
    if (!process) return fail(tools.missing(process.error()));
    return Compilation{object, std::move(*process)};
}

Result<std::string> finish(Compilation& compilation, const Log& log, const std::string& translated,
                           std::string* warnings) {
    const auto output = compilation.process.wait();
    auto text = log.rewrite(output.error, translated);
    if (output.status != 0) return fail(std::move(text));
    auto object = SOFTMETAL_TRY(read_file(compilation.object));
    std::string undefined;
    for (const auto& name : undefined_names(object))
        undefined += log.name() + ": error: undefined function '" + in_msl_words(name) + "'\n";
    if (!undefined.empty()) return fail(std::move(undefined));
    if (warnings != nullptr) *warnings = std::move(text);
    return object;
}

// Both at once: they take about the same time.
Result<CompiledUnit> compile_both(const Toolchain& tools, const std::string& translated,
                                  const Log& log, const CompileOptions& options) {
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    const auto path = temporary.path() / "translated.cpp";
    SOFTMETAL_TRY(write_file(path, translated));
    auto plain = SOFTMETAL_TRY(start(tools, Build::Plain, options, path));
    CompiledUnit out;
    if (options.checked) {
        auto checked = SOFTMETAL_TRY(start(tools, Build::Checked, options, path));
        out.plain = SOFTMETAL_TRY(finish(plain, log, translated, &out.warnings));
        out.checked = SOFTMETAL_TRY(finish(checked, log, translated, nullptr));
    } else {
        out.plain = SOFTMETAL_TRY(finish(plain, log, translated, &out.warnings));
    }
    return out;
}

Result<std::string> translated(const Toolchain& tools, std::string_view preprocessed,
                               std::string_view source, const std::string& name) {
    auto translation = translate(preprocessed);
    if (!translation.errors.empty())
        return fail(Log(source, name, tools.library()).render(translation.errors));
    return std::move(translation.text);
}

// The translated text says all of the source, but for what only the strict check reads; the rest is
// how it is compiled.
std::string cache_key(const Toolchain& tools, const std::string& preprocessed,
                      const std::string& translated, const CompileOptions& options) {
    const std::string settings = std::string(options.fast_math ? "fast " : "") +
                                 (options.strict ? "strict " : "") +
                                 (options.checked ? "checked" : "");
    uint64_t seed = hash(settings, tools.fingerprint());
    for (const auto& flag : tools.language_flags(Build::Checked, options.fast_math)) {
        seed = hash(flag, seed);
    }
    if (options.strict) seed = hash(preprocessed, seed);
    return hex(hash(translated, seed)) + hex(hash(translated, ~seed));
}

std::vector<std::string> includes_of(const std::string& translated, const std::string& name) {
    std::vector<std::string> out;
    for (const auto& file : tokenize(translated).files)
        if (!file.empty() && !file.starts_with('<') && file != name) out.push_back(file);
    return out;
}

}  // namespace

Result<std::string> preprocessed(std::string_view source, const std::string& name,
                                 const fs::path& folder, const CompileOptions& options) {
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    return preprocess(Toolchain::configured(), temporary, source, name, folder, options);
}

Result<std::string> translated(std::string_view source, const std::string& name,
                               const fs::path& folder, const CompileOptions& options) {
    const auto text = SOFTMETAL_TRY(preprocessed(source, name, folder, options));
    return translated(Toolchain::configured(), text, source, name);
}

Result<std::string> compile_to_ptx(std::string_view source, const std::string& name,
                                   const fs::path& folder, const CompileOptions& options) {
    const auto tools = Toolchain::configured();
    const auto preprocessed_text = SOFTMETAL_TRY(preprocessed(source, name, folder, options));
    auto translation = translate(preprocessed_text, Target::Nvptx);
    const Log log(source, name, tools.library());
    if (!translation.errors.empty()) return fail(log.render(translation.errors));
    // Closes what the prelude opens.
    translation.text += "#pragma clang attribute pop\n#pragma clang force_cuda_host_device end\n";
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    const auto path = temporary.path() / "translated.cu", ptx = temporary.path() / "kernels.ptx";
    SOFTMETAL_TRY(write_file(path, translation.text));
    auto process = Process::start(tools.compile_to_ptx(options.fast_math, path, ptx));
    if (!process) return fail(tools.missing(process.error()));
    const auto output = process->wait();
    if (output.status != 0) return fail(log.rewrite(output.error, translation.text));
    std::string names;
    for (size_t i = 0; i < translation.kernels.size(); ++i)
        names += "// sm_kernel_" + std::to_string(i) + ": " + translation.kernels[i] + "\n";
    return names + SOFTMETAL_TRY(read_file(ptx));
}

std::vector<std::string> library_files() {
    std::vector<std::string> out;
    for (const auto& file : Toolchain::configured().library_files()) out.push_back(file.string());
    return out;
}

Result<CompiledUnit> compile(std::string_view source, const std::string& name,
                             const fs::path& folder, const CompileOptions& options) {
    const auto tools = Toolchain::configured();
    const auto read = SOFTMETAL_TRY(preprocessed(source, name, folder, options));
    const auto text = SOFTMETAL_TRY(translated(tools, read, source, name));
    const auto cache = options.cache ? Cache::of_user() : std::nullopt;
    const auto key = cache ? cache_key(tools, read, text, options) : "";
    if (cache) {
        if (auto known = cache->find(key)) {
            known->includes = includes_of(text, name);
            return std::move(*known);
        }
    }
    // At once with the compilation, which is the longer.
    std::optional<strict::Check> check;
    if (options.strict) {
        auto started = SOFTMETAL_TRY(strict::Check::start(tools, read, source, name));
        check.emplace(std::move(started));
    }
    auto compiled = compile_both(tools, text, Log(source, name, tools.library()), options);
    if (check) SOFTMETAL_TRY(check->finish());
    auto unit = SOFTMETAL_TRY(std::move(compiled));
    unit.includes = includes_of(text, name);
    if (cache) cache->store(key, unit);
    return unit;
}

}  // namespace softmetal::msl
