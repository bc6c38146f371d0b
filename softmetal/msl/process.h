// Runs a program and waits for it, without a shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "softmetal/base/result.h"

namespace softmetal::msl {

struct ProcessOutput {
    int status = 0;  // exit status; 128 + n when signal n ended it
    std::string out, error;
};

// A started program. Both its outputs are collected while it runs.
class Process {
  public:
    // arguments[0] is the program: a path, or a name looked up in PATH. Standard input is empty.
    static Result<Process> start(const std::vector<std::string>& arguments);
    Process(Process&& other) noexcept;
    Process& operator=(Process&&) = delete;
    ~Process();

    ProcessOutput wait();

  private:
    Process(int pid, int out, int error) : pid_(pid), out_(out), error_(error) {}
    int pid_, out_, error_;
};

// Removed with everything in it when this object goes.
class TemporaryFolder {
  public:
    static Result<TemporaryFolder> create();
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
        other.path_.clear();
    }
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();

    // Those of the whole process, which is about to end: create() does not return any more.
    static void remove_all_for_good();

    const std::filesystem::path& path() const { return path_; }

  private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

Result<std::string> read_file(const std::filesystem::path& path);
Result<> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace softmetal::msl
