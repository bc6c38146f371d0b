// minfer: looks at the first argument and hands the rest to a command.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <vector>

#include "build_info.h"
#include "commands.h"
#include "environment.h"
#include "flags.h"
#include "not_yet.h"

namespace minfer {
namespace {

struct Command {
    std::string_view name;
    std::string_view help;
    int (*run)(Console&, Args);
};

constexpr Command kCommands[] = {
    {"run", "answer one prompt (also without the word: minfer MODEL PROMPT)", run_command},
    {"bench", "measure prompt and generation speed", bench_command},
    {"info", "what a model file contains, and what it needs", info_command},
    {"show", "", info_command},
    {"inspect", "", info_command},
    {"graph", "export the compute graph as DOT or JSON", graph_command},
    {"trace", "what each node of a run computes, and where two runs differ", trace_command},
    {"tokenize", "text to token ids", tokenize_command},
};

std::string overview() {
    std::string text =
        "minfer runs language models from GGUF files (Qwen2, Qwen2.5, Qwen3).\n\n"
        "  minfer run MODEL \"PROMPT\"     or     echo PROMPT | minfer run MODEL\n\nCommands:\n";
    for (const auto& command : kCommands)
        if (!command.help.empty()) text += fmt::format("  {:<10}{}\n", command.name, command.help);
    text += fmt::format(
        "\nminfer COMMAND --help lists a command's flags, minfer --version names this build.\n"
        "Exit codes: 0 success, 1 refused input or failure, 2 bad command line, 130 "
        "interrupted, 3 two traces differ, 141 nobody reads stdout any more.\n\n{}",
        environment_help());
    return text;
}

int show(Console& console, std::string_view text) {
    const auto shown = console.write(text);
    return shown ? kExitOk : console.failed(shown.error());
}

int usage_error(Console& console, const Error& error) {
    (void)console.failed(error);
    console.note("usage: minfer [run] MODEL [PROMPT] [FLAGS] (minfer --help lists the commands)");
    return kExitUsage;
}

// "did you mean X?" or, when nothing is close, every command.
std::string suggestion(std::string_view word) {
    std::vector<std::string> names = {"help"};
    std::string listed;
    for (const auto& command : kCommands) {
        names.emplace_back(command.name);
        if (!command.help.empty()) listed += fmt::format("{}, ", command.name);
    }
    if (const auto meant = closest(word, names)) return fmt::format("did you mean {}?", *meant);
    return fmt::format("the commands are {}help", listed);
}

// A first word that is no path by its looks and names no file was meant as a command. A colon
// belongs to a place models come from, as in ollama:NAME.
bool is_mistyped_command(const std::string& word) {
    std::error_code ignored;
    return !word.empty() && !word.starts_with('-') &&
           word.find_first_of("/.:") == std::string::npos &&
           !std::filesystem::exists(word, ignored);
}

int help_about(Console& console, const std::string& topic) {
    if (topic == "environment") return show(console, environment_help());
    if (topic == "help" || topic == "-h" || topic == "--help") return show(console, overview());
    const auto help = std::vector<std::string>{"--help"};
    for (const auto& command : kCommands)
        if (topic == command.name) return command.run(console, help);
    if (is_command_not_yet(topic))
        return usage_error(console, {Fault::Unsupported,
                                     fmt::format("not supported yet by this build: {}", topic)});
    return usage_error(console, {Fault::BadInput, fmt::format("'{}' is not a command; {}", topic,
                                                              suggestion(topic))});
}

int dispatch(Console& console, Args args) {
    if (args.empty())
        return usage_error(console, {Fault::BadInput, "no command and no model given"});
    const auto& first = args.front();
    if (first == "-h" || first == "--help") return show(console, overview());
    if (first == "-V" || first == "--version")
        return show(console, fmt::format("minfer {} ({})\n", kVersion, kCommit));
    if (first == "help") {
        return args.size() == 1 ? show(console, overview()) : help_about(console, args[1]);
    }
    for (const auto& command : kCommands)
        if (first == command.name) return command.run(console, args.subspan(1));
    if (is_command_not_yet(first))
        return usage_error(console, {Fault::Unsupported,
                                     fmt::format("not supported yet by this build: {}", first)});
    if (is_mistyped_command(first))
        return usage_error(console,
                           {Fault::BadInput, fmt::format("'{}' is neither a command nor a file; {}",
                                                         first, suggestion(first))});
    return run_command(console, args);
}

}  // namespace
}  // namespace minfer

// A stream that is closed stays unusable: the next file opened would get its number, and what is
// written to stdout would go there.
void occupy_closed_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0)  // the lowest free number is taken, this one
            (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char** argv) {
    occupy_closed_streams();
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is reported by write()
    minfer::Console console;
    try {
        const auto args = std::vector<std::string>(argv + std::min(argc, 1), argv + argc);
        return minfer::dispatch(console, args);
    } catch (const std::bad_alloc&) {
        return console.failed({minfer::Fault::OutOfMemory, "out of memory"});
    } catch (const std::exception& error) {
        return console.failed({minfer::Fault::BadInput, error.what()});
    }
}
