#pragma once
// Runs a program the way a shell would and collects what it said. Its standard streams are files,
// so nothing deadlocks however much is written.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace minfer {

struct ProcessOptions {
    std::string input;                               // stdin
    std::map<std::string, std::string> environment;  // added to ours
    int stdin_descriptor = -1;                       // instead of input
    int stdout_descriptor = -1;                      // instead of being collected
    std::vector<int> closed;                         // standard streams it does not get
};

class Process {
  public:
    explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {}) {
        in_ = std::tmpfile();
        out_ = std::tmpfile();
        err_ = std::tmpfile();
        MINFER_ASSERT(in_ && out_ && err_);
        std::fwrite(options.input.data(), 1, options.input.size(), in_);
        std::rewind(in_);
        std::vector<char*> argv;
        for (const auto& arg : command) argv.push_back(const_cast<char*>(arg.c_str()));
        argv.push_back(nullptr);
        pid_ = ::fork();
        MINFER_ASSERT(pid_ >= 0);
        if (pid_ != 0) return;
        ::dup2(options.stdin_descriptor < 0 ? ::fileno(in_) : options.stdin_descriptor,
               STDIN_FILENO);
        ::dup2(options.stdout_descriptor < 0 ? ::fileno(out_) : options.stdout_descriptor,
               STDOUT_FILENO);
        ::dup2(::fileno(err_), STDERR_FILENO);
        for (const int stream : options.closed) ::close(stream);
        for (const auto& [name, value] : options.environment)
            ::setenv(name.c_str(), value.c_str(), 1);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ~Process() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            wait();
        }
        for (auto* const file : {in_, out_, err_}) std::fclose(file);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send(int signal) { ::kill(pid_, signal); }
    bool running() {
        if (pid_ <= 0) return false;
        if (::waitpid(pid_, &status_, WNOHANG) == 0) return true;
        pid_ = -1;
        return false;
    }
    // The exit code, or 128 + the signal that ended it.
    int wait() {
        if (pid_ > 0) ::waitpid(pid_, &status_, 0);
        pid_ = -1;
        return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    }

    // What it has written so far.
    std::string out() const { return content(out_); }
    std::string err() const { return content(err_); }

  private:
    static std::string content(std::FILE* file) {
        std::string text;
        char block[4096];
        for (off_t at = 0;;) {
            const auto got = ::pread(::fileno(file), block, sizeof block, at);
            if (got <= 0) return text;
            text.append(block, static_cast<size_t>(got));
            at += got;
        }
    }

    std::FILE *in_ = nullptr, *out_ = nullptr, *err_ = nullptr;
    pid_t pid_ = -1;
    int status_ = 0;
};

struct Outcome {
    int code = -1;
    std::string out, err;
};

inline Outcome run_process(const std::vector<std::string>& command,
                           const ProcessOptions& options = {}) {
    Process process(command, options);
    const int code = process.wait();
    return {code, process.out(), process.err()};
}

}  // namespace minfer
