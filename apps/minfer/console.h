#pragma once
// The program's three mouths: model text and results on stdout, everything else on stderr, and a
// copy of the latter in the log file when there is one.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minfer {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;         // refused input, load or run failure
constexpr int kExitUsage = 2;          // bad command line or environment
constexpr int kExitDifferent = 3;      // of two things compared
constexpr int kExitInterrupted = 130;  // Ctrl+C
constexpr int kExitReaderGone = 141;   // 128 + SIGPIPE: what a shell expects of a closed pipe

class Console {
  public:
    Console();
    ~Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    // To stdout, at once and exactly. Io when it cannot be written: full disk, closed pipe.
    Result<> write(std::string_view text);

    // One line on stderr and in the log.
    template <class... Args>
    void note(fmt::format_string<Args...> text, Args&&... args) {
        auto told = fmt::format(text, std::forward<Args>(args)...);
        if (holding_)
            held_.push_back(std::move(told));
        else
            line(told);
    }
    // The same, never kept back: what explains why nothing seems to happen.
    template <class... Args>
    void note_now(fmt::format_string<Args...> text, Args&&... args) {
        line(fmt::format(text, std::forward<Args>(args)...));
    }
    // Keeps notes back until release_notes(): the checks of an input come first. Notes still held
    // when one fails are said before the error, which may be explained by them and is what counts.
    void hold_notes() { holding_ = true; }
    void release_notes();
    // "error: ...", the last line said, and the exit code for a failure. Silent when it is that
    // stdout's reader has gone: `| head` has seen enough, and nothing went wrong.
    int failed(const Error& error);

    // Replaces the line being shown on a terminal; nothing when stderr is not one.
    void progress(std::string_view text);
    // Ends progress, and the line of model text a terminal is in the middle of.
    void settle();

    // Appends notes and errors to this file too.
    Result<> log_to(const std::string& path);

  private:
    void line(std::string_view text);

    bool stdout_is_terminal_, stderr_is_terminal_;
    bool in_progress_ = false;
    bool reader_gone_ = false;  // stdout is a pipe that nobody reads any more
    bool mid_line_ = false;     // the last character on stdout was not a newline
    bool holding_ = false;
    std::vector<std::string> held_;
    std::FILE* log_ = nullptr;
};

}  // namespace minfer
