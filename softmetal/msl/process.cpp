#include "softmetal/msl/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
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

void close_both(const std::array<int, 2>& ends) {
    for (const int end : ends) close(end);
}

// The program and those it starts are one process group, which gets SIGTERM when the last writer of
// the pipe behind `life` is gone: this process, however it ended. PR_SET_PDEATHSIG would reach only
// the program itself, and would come when the thread that started it ends.
void end_with_this_process(int life, pid_t group) {
    fcntl(life, F_SETSIG, SIGTERM);
    fcntl(life, F_SETOWN, -group);
    fcntl(life, F_SETFL, O_ASYNC);
}

constexpr std::string_view kFolderPrefix = "softmetal-";

struct OpenFolders {
    std::mutex mutex;
    std::set<std::filesystem::path> paths;
};
OpenFolders& open_folders() {
    static auto* const all = new OpenFolders;  // lives as long as a thread may ask for it
    return *all;
}

// A lock of a folder that goes with the process, however it ends; -1 when another holds it.
int lock_folder(const std::filesystem::path& folder) {
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return -1;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
    close(file);
    return -1;
}

// Folders of processes that were killed. The lock spares those whose process only seems to be gone,
// because it runs in another container; the seconds those that are not locked yet.
void remove_left_behind(const std::filesystem::path& base) {
    std::error_code ignored;
    const auto limit = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(2);
    for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(kFolderPrefix)) continue;
        pid_t owner = 0;
        const auto* const end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + kFolderPrefix.size(), end, owner);
        if (read.ec != std::errc() || end - read.ptr != 7 || *read.ptr != '-' || owner <= 0)
            continue;
        const bool is_gone = kill(owner, 0) != 0 && errno == ESRCH;
        const auto written = entry.last_write_time(ignored);
        if (!is_gone || written >= limit) continue;
        const int lock = lock_folder(entry.path());
        if (lock < 0) continue;
        std::filesystem::remove_all(entry.path(), ignored);
        close(lock);
    }
}

}  // namespace

Result<Process> Process::start(const std::vector<std::string>& arguments) {
    // O_CLOEXEC: programs started by other threads at the same time must not hold these ends open.
    std::array<std::array<int, 2>, 3> pipes{};
    for (size_t i = 0; i < pipes.size(); ++i) {
        if (pipe2(pipes[i].data(), O_CLOEXEC) == 0) continue;
        const int why = errno;
        while (i-- > 0) close_both(pipes[i]);
        return fail("pipe: " + reason(why));
    }
    const auto& [out, error, life] = pipes;
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, error[1], 2);
    posix_spawn_file_actions_adddup2(&actions, life[0], life[0]);  // stays open there
    pid_t pid = 0;
    // Signals that this process waits for shall end the other one.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(error[1]);
    if (failed == 0) end_with_this_process(life[0], pid);
    close(life[0]);
    if (failed != 0) {
        close(out[0]);
        close(error[0]);
        close(life[1]);
        return fail("cannot start '" + arguments[0] + "': " + reason(failed));
    }
    return Process(pid, out[0], error[0], life[1]);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      out_(std::exchange(other.out_, -1)),
      error_(std::exchange(other.error_, -1)),
      life_(std::exchange(other.life_, -1)) {}

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
    close(life_);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

Result<TemporaryFolder> TemporaryFolder::create() {
    std::error_code error;
    const auto base = std::filesystem::temp_directory_path(error);
    if (error) return fail("no folder for temporary files: " + error.message());
    static std::once_flag once;
    std::call_once(once, [&] { remove_left_behind(base); });
    auto& open = open_folders();
    const std::lock_guard lock(open.mutex);
    std::string pattern =
        (base / (std::string(kFolderPrefix) + std::to_string(getpid()) + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr)
        return fail("cannot create a folder in '" + base.string() + "': " + reason(errno));
    open.paths.insert(pattern);
    return TemporaryFolder(pattern, lock_folder(pattern));
}

TemporaryFolder::~TemporaryFolder() {
    if (path_.empty()) return;
    auto& open = open_folders();
    const std::lock_guard lock(open.mutex);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    open.paths.erase(path_);
    if (lock_ >= 0) close(lock_);
}

void TemporaryFolder::remove_all_for_good() {
    auto& open = open_folders();
    open.mutex.lock();  // and never unlocked: nobody shall create another one
    std::error_code ignored;
    for (const auto& path : open.paths) std::filesystem::remove_all(path, ignored);
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
