#pragma once
// What a save leaves behind that fails, or whose process dies, before each of its steps on the
// disk.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "base/atomic_file.h"

namespace minfer::test {

using BeforeStep = std::function<Result<>(AtomicFile::Step)>;

// Calls `save` with a hook that fails before the n-th step, for every n, until it succeeds; `check`
// is told after each failure whether the name was changed over already. Returns the steps there
// are.
inline size_t fail_at_each_step(const std::function<Result<>(BeforeStep)>& save,
                                const std::function<void(bool renamed)>& check) {
    for (size_t n = 0;; ++n) {
        SCOPED_TRACE(fmt::format("step {} fails", n));
        size_t steps = 0;
        bool renamed = false;
        const auto saved = save([&](AtomicFile::Step step) -> Result<> {
            renamed = step == AtomicFile::Step::SyncFolder;
            if (steps++ == n) return fail(Fault::Io, "the disk is gone");
            return {};
        });
        if (saved) return steps;
        EXPECT_EQ(saved.error().fault, Fault::Io);
        EXPECT_NE(saved.error().what.find("the disk is gone"), std::string::npos);
        check(renamed);
    }
}

// The same in processes of their own, which end before the n-th step as if killed.
inline size_t kill_at_each_step(const std::function<Result<>(BeforeStep)>& save,
                                const std::function<void()>& check) {
    constexpr int kKilled = 40, kSaved = 41, kFailed = 42;
    for (size_t n = 0;; ++n) {
        SCOPED_TRACE(fmt::format("killed before step {}", n));
        const auto child = ::fork();
        MINFER_ASSERT(child >= 0);
        if (child == 0) {
            size_t steps = 0;
            const auto saved = save([&](AtomicFile::Step) -> Result<> {
                if (steps++ == n) ::_exit(kKilled);
                return {};
            });
            ::_exit(saved ? kSaved : kFailed);
        }
        int status = 0;
        MINFER_ASSERT(::waitpid(child, &status, 0) == child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != kFailed);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != kKilled) return n;
        check();
    }
}

inline std::string content_of(const std::filesystem::path& path) {
    auto file = std::ifstream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline size_t files_in(const std::filesystem::path& folder) {
    const auto files = std::filesystem::directory_iterator(folder);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
}

}  // namespace minfer::test
