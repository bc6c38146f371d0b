#include "gguf/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "support/raw_gguf.h"
#include "support/temp_dir.h"

namespace minfer::gguf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct PartKeys {
    std::optional<uint16_t> number, count;
    std::optional<int32_t> tensors;
    std::string tensor;  // the name of its one tensor
};

void write_part(const std::filesystem::path& path, const PartKeys& keys) {
    Writer writer;
    if (keys.number) writer.set("split.no", *keys.number);
    if (keys.count) writer.set("split.count", *keys.count);
    if (keys.tensors) writer.set("split.tensors.count", *keys.tensors);
    static const auto data = std::vector<std::byte>(16, std::byte{7});
    ASSERT_TRUE(writer.add_tensor(keys.tensor, DType::F32, {4}, data));
    const auto written = writer.write(path);
    ASSERT_TRUE(written) << written.error().what;
}

class GgufSplit : public ::testing::Test {
  protected:
    void SetUp() override {
        for (uint16_t i = 0; i < 3; ++i)
            write_part(path(i + 1u),
                       {.number = i, .count = uint16_t{3}, .tensors = 3, .tensor = tensor(i)});
    }
    std::filesystem::path path(uint32_t number) const {
        return dir_.path() / part_file_name("m", number, 3);
    }
    static std::string tensor(uint32_t i) { return fmt::format("t{}", i); }
    std::string refusal(uint32_t number = 1) const {
        const auto file = File::open(path(number));
        return file ? "accepted" : file.error().what;
    }

    TempDir dir_;
};

TEST(GgufPartName, FollowsThePattern) {
    const auto name = parse_part_name("a-b-00002-of-00012.gguf");
    ASSERT_TRUE(name);
    EXPECT_EQ(name->stem, "a-b");
    EXPECT_EQ(name->number, 2u);
    EXPECT_EQ(name->count, 12u);
    EXPECT_EQ(part_file_name("a-b", 2, 12), "a-b-00002-of-00012.gguf");
    for (const auto* other : {"a.gguf", "a-0002-of-00012.gguf", "a-00002-of-00012.bin",
                              "a-00002_of-00012.gguf", "a-+0002-of-00012.gguf", ""})
        EXPECT_FALSE(parse_part_name(other)) << other;
}

TEST_F(GgufSplit, LoadsAllPartsFromTheFirst) {
    const auto file = File::open(path(1));
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(file->parts().size(), 3u);
    ASSERT_EQ(file->tensors().size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) {
        const auto* const found = file->find(tensor(i));
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->part, i);
        EXPECT_EQ(found->data[0], std::byte{7});
    }
}

TEST_F(GgufSplit, NamingAnotherPartSaysWhichToName) {
    EXPECT_THAT(refusal(2), AllOf(HasSubstr("is part 2 of 3, name the first: "),
                                  HasSubstr("m-00001-of-00003.gguf")));
}

TEST_F(GgufSplit, NamesAMissingPart) {
    std::filesystem::remove(path(2));
    EXPECT_THAT(refusal(),
                AllOf(HasSubstr("part 2 of 3 is missing"), HasSubstr("m-00002-of-00003.gguf")));
}

TEST_F(GgufSplit, NamesThePartThatDisagrees) {
    write_part(path(3), {.number = uint16_t{1}, .count = uint16_t{3}, .tensors = 3, .tensor = "t"});
    EXPECT_THAT(refusal(), AllOf(HasSubstr("m-00003-of-00003.gguf: key 'split.no' is 1"),
                                 HasSubstr("says 2")));
    write_part(path(3), {.number = uint16_t{2}, .count = uint16_t{4}, .tensors = 3, .tensor = "t"});
    EXPECT_THAT(refusal(), HasSubstr("m-00003-of-00003.gguf: key 'split.count' is 4"));
    write_part(path(3), {.tensors = 3, .tensor = "t"});
    EXPECT_THAT(refusal(), HasSubstr("m-00003-of-00003.gguf: key 'split.no' is missing"));
}

TEST_F(GgufSplit, RefusesOneTensorInTwoParts) {
    write_part(path(3),
               {.number = uint16_t{2}, .count = uint16_t{3}, .tensors = 3, .tensor = "t0"});
    EXPECT_THAT(refusal(), AllOf(HasSubstr("m-00003-of-00003.gguf: tensor 't0' occurs twice"),
                                 HasSubstr("also in part 1")));
}

TEST_F(GgufSplit, RefusesAWrongTensorCount) {
    write_part(path(1),
               {.number = uint16_t{0}, .count = uint16_t{3}, .tensors = 4, .tensor = "t0"});
    EXPECT_THAT(refusal(), HasSubstr("key 'split.tensors.count' is 4, the 3 parts hold 3"));
}

TEST_F(GgufSplit, RefusesNamesAndKeysThatDisagree) {
    std::filesystem::rename(path(1), dir_.path() / "whole.gguf");
    const auto unnamed = File::open(dir_.path() / "whole.gguf");
    ASSERT_FALSE(unnamed);
    EXPECT_THAT(unnamed.error().what, HasSubstr("should be named STEM-00001-of-00003.gguf"));
    write_part(path(1), {.tensor = "t0"});
    EXPECT_THAT(refusal(), HasSubstr("m-00001-of-00003.gguf: key 'split.no' is missing"));
    write_part(dir_.path() / "x-00005-of-00003.gguf", {.tensor = "t0"});
    const auto beyond = File::open(dir_.path() / "x-00005-of-00003.gguf");
    ASSERT_FALSE(beyond);
    EXPECT_THAT(beyond.error().what, HasSubstr("the name says part 5 of 3"));
}

TEST_F(GgufSplit, AcceptsWholeFilesThatMergingToolsLeave) {
    const auto merged = dir_.path() / "merged.gguf";
    write_part(merged, {.number = uint16_t{0}, .count = uint16_t{0}, .tensors = 1, .tensor = "t"});
    EXPECT_TRUE(File::open(merged));
    const auto one_of_one = dir_.path() / "m-00001-of-00001.gguf";
    write_part(one_of_one, {.tensor = "t"});
    EXPECT_TRUE(File::open(one_of_one));
}

}  // namespace
}  // namespace minfer::gguf
