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

Result<Translated> translate(const Preprocessed& preprocessed, std::string_view source,
                             const std::string& name, Target target) {
    auto translation = translate(preprocessed.text, target);
    if (!translation.errors.empty())
        return fail(
            Log(source, name, Toolchain::configured().library()).render(translation.errors));
    return Translated{std::move(translation.text), std::move(translation.kernels)};
}

Result<CompiledUnit> compile(std::string_view source, const std::string& name,
                             const fs::path& folder, const CompileOptions& options) {
    const auto tools = Toolchain::configured();
    const auto read = SOFTMETAL_TRY(preprocess(source, name, folder, options));
    auto translated = SOFTMETAL_TRY(translate(read, source, name, Target::Native));
    const auto& text = translated.text;
    const auto cache = options.cache ? Cache::of_user() : std::nullopt;
    const auto key = cache ? cache_key(tools, read.text, text, options) : "";
    auto unit = cache ? cache->find(key) : std::nullopt;
    if (!unit) {
        // At once with the compilation, which is the longer.
        std::optional<strict::Check> check;
        if (options.strict) {
            auto started = SOFTMETAL_TRY(strict::Check::start(tools, read.text, source, name));
            check.emplace(std::move(started));
        }
        auto compiled = compile_both(tools, text, Log(source, name, tools.library()), options);
        if (check) SOFTMETAL_TRY(check->finish());
        unit = SOFTMETAL_TRY(std::move(compiled));
        if (cache) cache->store(key, *unit);
    }
    unit->warnings = read.warnings + unit->warnings;
    unit->includes = includes_of(text, name);
    unit->kernels = std::move(translated.kernels);
    return std::move(*unit);
}

Result<std::string> compile_to_ptx(std::string_view source, const std::string& name,
                                   const fs::path& folder, const CompileOptions& options) {
    const auto tools = Toolchain::configured();
    const auto read = SOFTMETAL_TRY(preprocess(source, name, folder, options));
    auto translated = SOFTMETAL_TRY(translate(read, source, name, Target::Nvptx));
    // Closes what the prelude opens.
    translated.text += "#pragma clang attribute pop\n#pragma clang force_cuda_host_device end\n";
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    const auto path = temporary.path() / "translated.cu", ptx = temporary.path() / "kernels.ptx";
    SOFTMETAL_TRY(write_file(path, translated.text));
    auto process = Process::start(tools.compile_to_ptx(options.fast_math, path, ptx));
    if (!process) return fail(tools.missing(process.error()));
    const auto output = process->wait();
    if (output.status != 0)
        return fail(Log(source, name, tools.library()).rewrite(output.error, translated.text));
    std::string names;
    for (size_t i = 0; i < translated.kernels.size(); ++i)
        names += "// sm_kernel_" + std::to_string(i) + ": " + translated.kernels[i] + "\n";
    return names + SOFTMETAL_TRY(read_file(ptx));
}

std::vector<std::string> library_files() {
    std::vector<std::string> out;
    for (const auto& file : Toolchain::configured().library_files()) out.push_back(file.string());
    return out;
}

}  // namespace softmetal::msl
