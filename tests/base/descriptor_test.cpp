#include "base/descriptor.h"

#include <gmock/gmock.h>

#include <fstream>

#include "support/temp_dir.h"

namespace minfer {
namespace {

using testing::HasSubstr;

TEST(RegularFile, IsReadByPosition) {
    const TempDir dir;
    std::ofstream(dir.path() / "file", std::ios::binary) << "0123456789";
    const auto file = open_regular_file(dir.path() / "file");
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(file->size, 10u);
    std::byte part[4];
    ASSERT_TRUE(read_at(file->descriptor, 6, part));
    EXPECT_EQ(part[0], std::byte{'6'});
    EXPECT_EQ(part[3], std::byte{'9'});
    ASSERT_TRUE(read_at(file->descriptor, 10, std::span(part).first(0)));
}

TEST(RegularFile, SaysWhereBytesAreMissing) {
    const TempDir dir;
    std::ofstream(dir.path() / "file", std::ios::binary) << "0123456789";
    const auto file = open_regular_file(dir.path() / "file");
    ASSERT_TRUE(file);
    std::byte part[4];
    const auto past = read_at(file->descriptor, 7, part);
    ASSERT_FALSE(past);
    EXPECT_EQ(past.error().fault, Fault::Io);
    EXPECT_THAT(past.error().what, HasSubstr("1 bytes at byte 10 are gone"));
}

}  // namespace
}  // namespace minfer
