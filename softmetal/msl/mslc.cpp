// The command: MSL files in, one .smlib out.
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/msl/compiler.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"

namespace {

using namespace softmetal;

enum class Show : unsigned char { Nothing, Preprocessed, Translated };

struct Command {
    std::vector<std::string> files;
    std::string output = "default.smlib";
    msl::CompileOptions options;
    Show show = Show::Nothing;
};

constexpr const char* kUsage =
    "usage: mslc [-o OUT.smlib] [-D NAME[=VALUE]] [-I DIR] [--strict] [--fast-math] [-E | -S] "
    "FILE...\n";

Result<Command> parse(const std::vector<std::string>& arguments) {
    Command out;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const auto& word = arguments[i];
        const auto value = [&](std::string_view flag) -> Result<std::string> {
            if (word.size() > flag.size()) return word.substr(flag.size());
            if (i + 1 == arguments.size())
                return fail("mslc: '" + std::string(flag) + "' needs a value");
            return arguments[++i];
        };
        if (word.starts_with("-o")) {
            out.output = SOFTMETAL_TRY(value("-o"));
        } else if (word.starts_with("-D")) {
            const auto text = SOFTMETAL_TRY(value("-D"));
            const size_t equals = text.find('=');
            out.options.macros.emplace_back(text.substr(0, equals), equals == std::string::npos
                                                                        ? "1"
                                                                        : text.substr(equals + 1));
        } else if (word.starts_with("-I")) {
            out.options.include_folders.emplace_back(SOFTMETAL_TRY(value("-I")));
        } else if (word == "--strict") {
            out.options.strict = true;
        } else if (word == "--fast-math") {
            out.options.fast_math = true;
        } else if (word == "-E") {
            out.show = Show::Preprocessed;
        } else if (word == "-S") {
            out.show = Show::Translated;
        } else if (word.starts_with("-")) {
            return fail("mslc: unknown option '" + word + "'");
        } else {
            out.files.push_back(word);
        }
    }
    if (out.files.empty()) return fail("mslc: no input files");
    return out;
}

Result<> run(const Command& command) {
    msl::CompiledLibrary library;
    for (const auto& file : command.files) {
        const auto source = SOFTMETAL_TRY(msl::read_file(file));
        auto folder = std::filesystem::path(file).parent_path();
        if (folder.empty()) folder = ".";
        if (command.show != Show::Nothing) {
            const auto text =
                SOFTMETAL_TRY(command.show == Show::Preprocessed
                                  ? msl::preprocessed(source, file, folder, command.options)
                                  : msl::translated(source, file, folder, command.options));
            std::fwrite(text.data(), 1, text.size(), stdout);
            continue;
        }
        library.units.push_back(SOFTMETAL_TRY(msl::compile(source, file, folder, command.options)));
    }
    if (command.show != Show::Nothing) return {};
    return msl::write_file(command.output, msl::serialize(library));
}

}  // namespace

int main(int argc, char** argv) {
    const auto command = parse(std::vector<std::string>(argv + 1, argv + argc));
    if (!command) {
        std::fprintf(stderr, "%s\n%s", command.error().c_str(), kUsage);
        return 1;
    }
    const auto done = run(*command);
    if (done) return 0;
    std::fprintf(stderr, "%s%s", done.error().c_str(), done.error().ends_with('\n') ? "" : "\n");
    return 1;
}
