#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "support/interrupted_save.h"
#include "support/temp_dir.h"

namespace minfer {
namespace {

using test::BeforeStep;
using test::content_of;
using test::files_in;
using testing::HasSubstr;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// In three pieces.
Result<> save(const std::filesystem::path& path, std::string_view text, BeforeStep hook = {}) {
    auto file = MINFER_TRY(AtomicFile::create(path, {.before_step = std::move(hook)}));
    const auto third = text.size() / 3;
    MINFER_TRY(file.write(bytes(text.substr(0, third))));
    MINFER_TRY(file.write(bytes(text.substr(third, third))));
    MINFER_TRY(file.write(bytes(text.substr(2 * third))));
    return file.commit();
}

void put(const std::filesystem::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

mode_t mode_of(const std::filesystem::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
}

constexpr std::string_view kOld = "what was there before", kNew = "what is there from now on";
constexpr size_t kSteps = 7;  // create, three pieces, file to disk, rename, folder to disk

TEST(AtomicFile, AppearsWholeAndPrivateWithNothingBesideIt) {
    const TempDir dir;
    const auto path = dir.path() / "file";
    ASSERT_TRUE(save(path, kOld));
    EXPECT_EQ(content_of(path), kOld);
    EXPECT_EQ(mode_of(path), 0600u);
    ASSERT_TRUE(save(path, kNew));
    EXPECT_EQ(content_of(path), kNew);
    EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(AtomicFile, HasTheRightsAskedForOnceItIsThere) {
    const TempDir dir;
    const auto path = dir.path() / "file";
    mode_t before = 0;
    const auto look = [&](AtomicFile::Step step) -> Result<> {
        for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
            if (step == AtomicFile::Step::Write) before = mode_of(entry.path());
        return {};
    };
    auto file = AtomicFile::create(path, {.mode = 0644, .before_step = look});
    ASSERT_TRUE(file && file->write(bytes(kNew)) && file->commit());
    EXPECT_EQ(before, 0600u);
    EXPECT_EQ(mode_of(path), 0644u);
}

TEST(AtomicFile, IsGoneWhenItWasNotCommitted) {
    const TempDir dir;
    put(dir.path() / "file", kOld);
    {
        auto file = AtomicFile::create(dir.path() / "file", {});
        ASSERT_TRUE(file && file->write(bytes(kNew)));
        EXPECT_EQ(files_in(dir.path()), 2u);
        const auto moved = *std::move(file);
    }
    EXPECT_EQ(files_in(dir.path()), 1u);
    EXPECT_EQ(content_of(dir.path() / "file"), kOld);
}

TEST(AtomicFile, AFailureOfAnyStepLeavesOneWholeFile) {
    const TempDir dir;
    const auto path = dir.path() / "file";
    put(path, kOld);
    const auto steps =
        test::fail_at_each_step([&](BeforeStep hook) { return save(path, kNew, std::move(hook)); },
                                [&](bool renamed) {
                                    EXPECT_EQ(content_of(path), renamed ? kNew : kOld);
                                    EXPECT_EQ(files_in(dir.path()), 1u);
                                });
    EXPECT_EQ(steps, kSteps);
    EXPECT_EQ(content_of(path), kNew);
}

TEST(AtomicFile, AProcessKilledBeforeAnyStepLeavesOneWholeFileAndIsInNobodysWay) {
    const TempDir dir;
    const auto path = dir.path() / "file";
    size_t killed = 0, old = 0;
    put(path, kOld);
    const auto steps =
        test::kill_at_each_step([&](BeforeStep hook) { return save(path, kNew, std::move(hook)); },
                                [&] {
                                    ++killed;
                                    const auto content = content_of(path);
                                    old += content == kOld;
                                    EXPECT_TRUE(content == kOld || content == kNew) << content;
                                    ASSERT_TRUE(save(path, kOld));  // beside whatever was left
                                    EXPECT_EQ(content_of(path), kOld);
                                });
    EXPECT_EQ(steps, kSteps);
    EXPECT_EQ(killed, kSteps);
    EXPECT_EQ(old, kSteps - 1);  // all but the one killed after the renaming
    EXPECT_EQ(content_of(path), kNew);
    EXPECT_EQ(files_in(dir.path()), 1 + kSteps - 2);  // no file before Create, none after Rename
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
    const TempDir dir;
    const auto path = dir.path() / "file";
    put(path, kOld);
    const auto child = ::fork();  // limits are a process's
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const auto limit = rlimit{.rlim_cur = 1000, .rlim_max = 1000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        const auto saved = save(path, std::string(5000, 'x'));
        const bool said = !saved && saved.error().what.find("too large") != std::string::npos;
        ::_exit(said ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(content_of(path), kOld);
    EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(AtomicFile, ALinkGoesOnPointingAtTheFileThatIsReplaced) {
    const TempDir dir;
    std::filesystem::create_directory(dir.path() / "there");
    put(dir.path() / "there" / "file", kOld);
    std::filesystem::create_symlink(dir.path() / "there" / "file", dir.path() / "link");
    ASSERT_TRUE(save(dir.path() / "link", kNew));
    EXPECT_TRUE(std::filesystem::is_symlink(dir.path() / "link"));
    EXPECT_EQ(content_of(dir.path() / "there" / "file"), kNew);
}

TEST(AtomicFile, ALinkToAFileThatIsNotThereYetGetsIt) {
    const TempDir dir;
    std::filesystem::create_directory(dir.path() / "there");
    std::filesystem::create_symlink("there/file", dir.path() / "first");
    std::filesystem::create_symlink(dir.path() / "first", dir.path() / "second");
    ASSERT_TRUE(save(dir.path() / "second", kNew));
    EXPECT_TRUE(std::filesystem::is_symlink(dir.path() / "second"));
    EXPECT_TRUE(std::filesystem::is_symlink(dir.path() / "first"));
    EXPECT_EQ(content_of(dir.path() / "there" / "file"), kNew);
    std::filesystem::create_symlink("nowhere/file", dir.path() / "astray");
    EXPECT_FALSE(save(dir.path() / "astray", kNew));
    EXPECT_TRUE(std::filesystem::is_symlink(dir.path() / "astray"));
}

TEST(AtomicFile, RefusesWhatItCannotReplaceByName) {
    const TempDir dir;
    const auto refusal = [&](const std::filesystem::path& path) {
        const auto file = AtomicFile::create(path, {});
        EXPECT_FALSE(file);
        EXPECT_EQ(file.error().fault, Fault::Io);
        EXPECT_THAT(file.error().what, HasSubstr(path.string()));
        return file.error().what;
    };
    EXPECT_THAT(refusal(dir.path()), HasSubstr("is a directory, expected a regular file or none"));
    const auto pipe = dir.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(refusal(pipe), HasSubstr("is a special file"));
    EXPECT_THAT(refusal(dir.path() / "no" / "file"), HasSubstr("No such file or directory"));
    EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(AtomicFile, TakesANameInTheCurrentFolder) {
    const TempDir dir;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(dir.path());
    const auto saved = save("file", kNew);
    std::filesystem::current_path(before);
    ASSERT_TRUE(saved) << saved.error().what;
    EXPECT_EQ(content_of(dir.path() / "file"), kNew);
}

}  // namespace
}  // namespace minfer
