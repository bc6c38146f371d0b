#include "console.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/printable.h"

namespace minfer {
namespace {

// All of `text`, whatever the descriptor takes at a time.
bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(descriptor, text.data(), text.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

// Messages quote names out of files; none of them may drive the terminal. Lines stay lines.
std::string without_control(std::string_view text) {
    std::string out;
    while (true) {
        const auto end = text.find('\n');
        out += escaped(text.substr(0, end));
        if (end == std::string_view::npos) return out;
        out += '\n';
        text.remove_prefix(end + 1);
    }
}

}  // namespace

Console::Console()
    : stdout_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      stderr_is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Console::~Console() {
    if (log_) std::fclose(log_);
}

Result<> Console::write(std::string_view text) {
    if (text.empty()) return {};
    if (in_progress_) settle();
    if (!write_all(STDOUT_FILENO, text)) {
        if (errno == EPIPE) {
            reader_gone_ = true;
            return fail(Fault::Io, "stdout: its reader has gone");
        }
        return fail(Fault::Io, "stdout: cannot write: {}", std::strerror(errno));
    }
    mid_line_ = text.back() != '\n';
    return {};
}

void Console::line(std::string_view text) {
    settle();
    const auto shown = without_control(text) + "\n";
    (void)write_all(STDERR_FILENO, shown);  // nobody can be told when stderr itself fails
    if (log_) {
        std::fwrite(shown.data(), 1, shown.size(), log_);
        std::fflush(log_);
    }
}

void Console::release_notes() {
    holding_ = false;
    for (const auto& note : std::exchange(held_, {})) line(note);
}

int Console::failed(const Error& error) {
    if (reader_gone_ && error.fault == Fault::Io) return kExitReaderGone;
    release_notes();
    line(fmt::format("error: {}", error.what));
    return error.fault == Fault::Cancelled ? kExitInterrupted : kExitFailed;
}

void Console::progress(std::string_view text) {
    if (!stderr_is_terminal_) return;
    (void)write_all(STDERR_FILENO, fmt::format("\r\x1b[K{}", text));
    in_progress_ = true;
}

void Console::settle() {
    if (in_progress_) (void)write_all(STDERR_FILENO, "\r\x1b[K");
    in_progress_ = false;
    if (mid_line_ && stdout_is_terminal_ && stderr_is_terminal_)
        (void)write_all(STDERR_FILENO, "\n");
    mid_line_ = false;
}

Result<> Console::log_to(const std::string& path) {
    log_ = std::fopen(path.c_str(), "a");
    if (!log_)
        return fail(Fault::Io, "{}: cannot open for the log: {}", path, std::strerror(errno));
    return {};
}

}  // namespace minfer
