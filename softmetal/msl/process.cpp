#include "softmetal/msl/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

extern char** environ;

namespace softmetal::msl {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// Reads once; closes and forgets the descriptor at its end.
void drain(int& descriptor, std::string& into) {
    std::array<char, 65536> block;
    const ssize_t n = read(descriptor, block.data(), block.size());
    if (n > 0) {
        into.append(block.data(), static_cast<size_t>(n));
    } else if (n == 0 || errno != EINTR) {
        close(descriptor);
        descriptor = -1;
    }
}

}  // namespace

Result<Process> Process::start(const std::vector<std::string>& arguments) {
    // O_CLOEXEC: programs started by other threads at the same time must not hold these ends open.
    std::array<int, 2> out{}, error{};
    if (pipe2(out.data(), O_CLOEXEC) != 0) return fail("pipe: " + reason(errno));
    if (pipe2(error.data(), O_CLOEXEC) != 0) {
        const int why = errno;
        close(out[0]);
        close(out[1]);
        return fail("pipe: " + reason(why));
    }
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, error[1], 2);
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(error[1]);
    if (failed != 0) {
        close(out[0]);
        close(error[0]);
        return fail("cannot start '" + arguments[0] + "': " + reason(failed));
    }
    return Process(pid, out[0], error[0]);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      out_(std::exchange(other.out_, -1)),
      error_(std::exchange(other.error_, -1)) {}

Process::~Process() {
    if (pid_ != 0) wait();
}

ProcessOutput Process::wait() {
    ProcessOutput result;
    while (out_ >= 0 || error_ >= 0) {
        std::array<pollfd, 2> watched = {
            {{out_, POLLIN, 0}, {error_, POLLIN, 0}}};  // negative: ignored
        if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
        if (watched[0].revents != 0) drain(out_, result.out);
        if (watched[1].revents != 0) drain(error_, result.error);
    }
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

Result<TemporaryFolder> TemporaryFolder::create() {
    std::error_code error;
    const auto base = std::filesystem::temp_directory_path(error);
    if (error) return fail("no folder for temporary files: " + error.message());
    std::string pattern = (base / "softmetal-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        return fail("cannot create a folder in '" + base.string() + "': " + reason(errno));
    return TemporaryFolder(pattern);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> read_file(const std::filesystem::path& path) {
    const auto fault = [&](int error) {
        return fail("cannot read '" + path.string() + "': " + reason(error));
    };
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return fault(errno);
    std::string bytes;
    std::array<char, 65536> block;
    while (true) {
        const ssize_t n = read(file, block.data(), block.size());
        if (n > 0) bytes.append(block.data(), static_cast<size_t>(n));
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        const int error = errno;
        close(file);
        if (n < 0) return fault(error);
        return bytes;
    }
}

Result<> write_file(const std::filesystem::path& path, std::string_view bytes) {
    const auto fault = [&](int error) {
        return fail("cannot write '" + path.string() + "': " + reason(error));
    };
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return fault(errno);
    while (!bytes.empty()) {
        const ssize_t n = write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const int error = errno;
            close(file);
            return fault(error);
        }
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    if (close(file) != 0) return fault(errno);
    return {};
}

}  // namespace softmetal::msl
