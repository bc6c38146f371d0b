// The command: MSL files in, one .smlib out.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "softmetal/exec/module.h"
#include "softmetal/msl/compiler.h"
#include "softmetal/msl/flatten.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"

namespace {

using namespace softmetal;

enum class Action : unsigned char { Compile, Preprocess, Translate, Flatten, List, Precompile };

struct Command {
    Action action = Action::Compile;
    msl::Target target = msl::Target::Native;
    std::vector<std::string> files;
    std::string output;   // "": standard output, or default.smlib
    std::string depfile;  // "": none
    msl::CompileOptions options = {.cache = false};
};

constexpr const char* kUsage =
    "usage: mslc [-o OUT.smlib] [-D NAME[=VALUE]] [-I DIR] [--strict] [--fast-math] FILE...\n"
    "       mslc -E | -S | --flatten [-o OUT] [-D NAME[=VALUE]] [-I DIR] FILE...\n"
    "       mslc --target=ptx [-o OUT.ptx] [-D NAME[=VALUE]] [-I DIR] FILE\n"
    "       mslc --list FILE.smlib\n"
    "\n"
    "  -o OUT            write there; default.smlib when compiling, else standard output\n"
    "  -D NAME[=VALUE]   define a macro\n"
    "  -I DIR            look for included files there, after the folder of the source\n"
    "  --strict          also refuse what Apple's compiler refuses\n"
    "  --fast-math       let a * b + c become one operation\n"
    "  --no-checked      leave out the kernels with memory checks\n"
    "  --cache           take what was compiled before, whose warnings were said then, from the\n"
    "                    user's cache\n"
    "  --depfile FILE    write the files that OUT was made of, for make and ninja\n"
    "  -E                show the source after preprocessing\n"
    "  -S                show the C++ that is compiled\n"
    "  --flatten         write one source without includes of its own, for newLibraryWithSource\n"
    "  --target=ptx      write PTX for NVIDIA GPUs instead of a library for this machine\n"
    "  --precompile      compile the Metal library ahead; else the first run does\n"
    "  --list            show the kernels of a compiled library\n";

// Options with a value take it from the same word (-Iinclude) or the next one.
class Parser {
  public:
    explicit Parser(std::vector<std::string> words) : words_(std::move(words)) {}

    Result<Command> run() {
        for (; at_ < words_.size(); ++at_) SOFTMETAL_TRY(word());
        if (out_.options.strict && !action_word_.empty())
            return fail("'--strict' and '" + action_word_ + "' exclude each other");
        if (out_.action == Action::Precompile) return std::move(out_);
        if (out_.files.empty()) return fail("no input files");
        const bool takes_one = out_.action == Action::List || (out_.action == Action::Compile &&
                                                               out_.target == msl::Target::Nvptx);
        if (takes_one && out_.files.size() != 1) return fail("only one file can be given here");
        return std::move(out_);
    }

  private:
    Result<> word() {
        const auto& word = words_[at_];
        if (word == "--depfile") {
            out_.depfile = SOFTMETAL_TRY(value(word));
        } else if (word == "--strict") {
            out_.options.strict = true;
        } else if (word == "--fast-math") {
            out_.options.fast_math = true;
        } else if (word == "--no-checked") {
            out_.options.checked = false;
        } else if (word == "--cache") {
            out_.options.cache = true;
        } else if (word == "--flatten") {
            SOFTMETAL_TRY(choose(Action::Flatten));
        } else if (word == "--target=ptx") {
            out_.target = msl::Target::Nvptx;
        } else if (word == "--target=native") {
            out_.target = msl::Target::Native;
        } else if (word == "--precompile") {
            SOFTMETAL_TRY(choose(Action::Precompile));
        } else if (word == "--list") {
            SOFTMETAL_TRY(choose(Action::List));
        } else if (word == "-E") {
            SOFTMETAL_TRY(choose(Action::Preprocess));
        } else if (word == "-S") {
            SOFTMETAL_TRY(choose(Action::Translate));
        } else if (word.starts_with("-o")) {
            out_.output = SOFTMETAL_TRY(value("-o"));
        } else if (word.starts_with("-I")) {
            out_.options.include_folders.emplace_back(SOFTMETAL_TRY(value("-I")));
        } else if (word.starts_with("-D")) {
            const auto text = SOFTMETAL_TRY(value("-D"));
            const size_t equals = text.find('=');
            out_.options.macros.emplace_back(text.substr(0, equals), equals == std::string::npos
                                                                         ? "1"
                                                                         : text.substr(equals + 1));
        } else if (word.starts_with("-")) {
            return fail("unknown option '" + word + "'");
        } else {
            out_.files.push_back(word);
        }
        return {};
    }

    Result<> choose(Action action) {
        if (!action_word_.empty() && action_word_ != words_[at_])
            return fail("'" + action_word_ + "' and '" + words_[at_] + "' exclude each other");
        action_word_ = words_[at_];
        out_.action = action;
        return {};
    }

    Result<std::string> value(const std::string& flag) {
        if (words_[at_].size() > flag.size()) return words_[at_].substr(flag.size());
        if (at_ + 1 == words_.size()) return fail("'" + flag + "' needs a value");
        return words_[++at_];
    }

    std::vector<std::string> words_;
    size_t at_ = 0;
    std::string action_word_;  // the option that chose what to do
    Command out_;
};

Result<> write(const std::string& path, std::string_view text) {
    if (!path.empty()) return msl::write_file(path, text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
}

std::filesystem::path folder_of(const std::string& file) {
    const auto folder = std::filesystem::path(file).parent_path();
    return folder.empty() ? "." : folder;
}

Result<> show(const Command& command) {
    std::string out;
    for (const auto& file : command.files) {
        const auto source = SOFTMETAL_TRY(msl::read_file(file));
        const auto folder = folder_of(file);
        auto read = SOFTMETAL_TRY(msl::preprocess(source, file, folder, command.options));
        if (command.action == Action::Translate)
            read.text = SOFTMETAL_TRY(msl::translate(read, source, file, command.target)).text;
        out += read.text;
    }
    return write(command.output, out);
}

Result<> flatten(const Command& command) {
    const std::vector<std::filesystem::path> files(command.files.begin(), command.files.end());
    return write(command.output,
                 SOFTMETAL_TRY(msl::flatten(files, command.options.include_folders)));
}

std::string describe(const exec::Module& module) {
    std::string out;
    const auto& table = module.table();
    for (const auto& kernel : std::span(table.kernels, table.n_kernels)) {
        out += std::string("kernel ") + kernel.name + "  " + kernel.file + ":" +
               std::to_string(kernel.line) + "\n";
        for (const auto& argument : std::span(kernel.arguments, kernel.n_arguments)) {
            out += argument.kind == SM_ARGUMENT_BUFFER ? "  buffer " : "  threadgroup ";
            out += std::to_string(argument.index) + ": " + argument.type + " " + argument.name;
            if (argument.function_constant != nullptr)
                out += std::string(" if ") + argument.function_constant;
            out += "\n";
        }
        const auto limits = module.limits(kernel);
        if (limits.static_threadgroup_bytes != 0)
            out += "  threadgroup memory: " + std::to_string(limits.static_threadgroup_bytes) +
                   " bytes\n";
        if (limits.max_total_threads != 0)
            out += "  at most " + std::to_string(limits.max_total_threads) + " threads\n";
    }
    for (const auto& constant : std::span(table.function_constants, table.n_function_constants))
        out += "function constant " + std::to_string(constant.index) + ": " + constant.name + "\n";
    return out;
}

Result<> list(const Command& command) {
    const auto bytes = SOFTMETAL_TRY(msl::read_file(command.files.front()));
    const auto library = msl::deserialize(bytes);
    if (!library) return fail(command.files.front() + ": " + library.error());
    std::string out;
    for (const auto& unit : library->units)
        out += describe(*SOFTMETAL_TRY(exec::Module::load(unit.plain, {})));
    return write(command.output, out);
}

// make's syntax: spaces in names are escaped.
std::string escaped(const std::string& path) {
    std::string out;
    for (const char c : path) {
        if (c == ' ' || c == '#') out += '\\';
        if (c == '$') out += '$';
        out += c;
    }
    return out;
}

Result<> compile(const Command& command) {
    const auto output = command.output.empty() ? std::string("default.smlib") : command.output;
    msl::CompiledLibrary library;
    std::string depfile = escaped(output) + ":";
    std::map<std::string, std::string> file_of_kernel;
    for (const auto& file : command.files) {
        const auto source = SOFTMETAL_TRY(msl::read_file(file));
        auto unit = SOFTMETAL_TRY(msl::compile(source, file, folder_of(file), command.options));
        std::fputs(unit.warnings.c_str(), stderr);
        if (unit.kernels.empty())
            std::fprintf(stderr, "mslc: warning: no kernels in %s\n", file.c_str());
        for (const auto& kernel : unit.kernels) {
            const auto [first, is_new] = file_of_kernel.emplace(kernel, file);
            if (!is_new)
                return fail("kernel '" + kernel + "' is in " + first->second + " and in " + file +
                            ": a library has one kernel of a name");
        }
        depfile += " " + escaped(file);
        for (const auto& include : unit.includes) depfile += " \\\n " + escaped(include);
        library.units.push_back(std::move(unit));
    }
    for (const auto& file : msl::library_files()) depfile += " \\\n " + escaped(file);
    if (!command.depfile.empty()) SOFTMETAL_TRY(msl::write_file(command.depfile, depfile + "\n"));
    return msl::write_file(output, msl::serialize(library));
}

Result<> compile_to_ptx(const Command& command) {
    const auto& file = command.files.front();
    const auto source = SOFTMETAL_TRY(msl::read_file(file));
    return write(command.output, SOFTMETAL_TRY(msl::compile_to_ptx(source, file, folder_of(file),
                                                                   command.options)));
}

Result<> run(const Command& command) {
    switch (command.action) {
        case Action::Compile:
            return command.target == msl::Target::Native ? compile(command)
                                                         : compile_to_ptx(command);
        case Action::Precompile:
            return msl::precompile_library();
        case Action::Preprocess:
        case Action::Translate:
            return show(command);
        case Action::Flatten:
            return flatten(command);
        case Action::List:
            return list(command);
    }
    return {};
}

// What ends the command leaves no temporary files. Blocked in every thread and waited for in one,
// which may then do what a signal handler may not.
void clean_up_when_stopped() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action;
        const bool is_ignored =
            sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
        if (!is_ignored) sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([signals] {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) return;
        msl::TemporaryFolder::remove_all_for_good();
        _exit(128 + signal);
    }).detach();
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
        std::fputs(kUsage, stdout);
        return 0;
    }
    const auto command = Parser(words).run();
    if (!command) {
        std::fprintf(stderr, "mslc: error: %s; see mslc --help\n", command.error().c_str());
        return 1;
    }
    clean_up_when_stopped();
    const auto done = run(*command);
    if (done) return 0;
    // A compiler's log says of each line where it belongs; anything else is ours.
    const auto& error = done.error();
    const bool is_log = error.find(": error: ") != std::string::npos;
    std::fprintf(stderr, "%s%s%s", is_log ? "" : "mslc: error: ", error.c_str(),
                 error.ends_with('\n') ? "" : "\n");
    return 1;
}
