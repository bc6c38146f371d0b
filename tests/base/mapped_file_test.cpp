#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "support/temp_dir.h"

namespace minfer {
namespace {

TEST(MappedFile, BaseAndTailSuitMetalPages) {
    const TempDir dir;
    for (const size_t size :
         {size_t{1}, size_t{4096}, size_t{16384}, size_t{16385}, size_t{70000}}) {
        const auto path = dir.path() / "file";
        std::ofstream(path, std::ios::binary) << std::string(size, 'x');
        const auto file = MappedFile::open(path);
        ASSERT_TRUE(file) << file.error().what;
        EXPECT_EQ(file->bytes().size(), size);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(file->bytes().data()) % kMetalPage, 0u);
        EXPECT_EQ(file->pages().size() % kMetalPage, 0u);
        for (const auto byte : file->bytes()) ASSERT_EQ(byte, std::byte{'x'});
        for (const auto byte : file->pages().subspan(size)) ASSERT_EQ(byte, std::byte{0});
    }
}

TEST(MappedFile, NamesWhatIsWrong) {
    const TempDir dir;
    const auto missing = MappedFile::open(dir.path() / "nothing");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().fault, Fault::NotFound);
    EXPECT_NE(missing.error().what.find("nothing"), std::string::npos);
    const auto folder = MappedFile::open(dir.path());
    ASSERT_FALSE(folder);
    EXPECT_NE(folder.error().what.find("a directory"), std::string::npos);
}

TEST(MappedFile, RefusesANamedPipeWithoutWaitingForAWriter) {
    const TempDir dir;
    const auto path = dir.path() / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const auto pipe = MappedFile::open(path);
    ASSERT_FALSE(pipe);
    EXPECT_EQ(pipe.error().fault, Fault::Io);
    EXPECT_NE(pipe.error().what.find("is a special file, expected a regular file"),
              std::string::npos);
}

TEST(MappedFile, EmptyFileHasNoBytes) {
    const TempDir dir;
    std::ofstream(dir.path() / "empty").close();
    const auto file = MappedFile::open(dir.path() / "empty");
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_TRUE(file->bytes().empty());
}

}  // namespace
}  // namespace minfer
