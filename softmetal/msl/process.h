// Runs a program and waits for it, without a shell.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "softmetal/base/result.h"

namespace softmetal::msl {

struct ProcessOutput {
    int status = 0;  // exit status; 128 + n when signal n ended it
    std::string out, error;
};

// A started program. Both its outputs are collected while it runs. When this process is killed, it
// and what it started end too.
class Process {
  public:
    // arguments[0] is the program: a path, or a name looked up in PATH. Standard input is empty.
    static Result<Process> start(const std::vector<std::string>& arguments);
    Process(Process&& other) noexcept;
    Process& operator=(Process&&) = delete;
    ~Process();

    ProcessOutput wait();

  private:
    Process(int pid, int out, int error, int life)
        : pid_(pid), out_(out), error_(error), life_(life) {}
    int pid_, out_, error_;
    int life_;  // closed by our end: what the other one's life hangs on
};

// Removed with everything in it when this object goes.
class TemporaryFolder {
  public:
    static Result<TemporaryFolder> create();
    TemporaryFolder(TemporaryFolder&& other) noexcept
        : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {
        other.path_.clear();
    }
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();

    // Those of the whole process, which is about to end: create() does not return any more.
    static void remove_all_for_good();

    const std::filesystem::path& path() const { return path_; }

  private:
    TemporaryFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
    std::filesystem::path path_;
    int lock_;  // a descriptor, or -1 where folders cannot be locked
};

Result<std::string> read_file(const std::filesystem::path& path);
Result<> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace softmetal::msl
