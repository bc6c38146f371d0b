#include "gguf/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "gguf/reader.h"
#include "support/temp_dir.h"

namespace minfer::gguf {
namespace {

using ::testing::HasSubstr;

const std::vector<std::byte> kData(64, std::byte{5});

TEST(GgufWriter, CopiesEveryValueOfAnotherFile) {
    Writer writer;
    writer.set("u8", uint8_t{1});
    writer.set("i8", int8_t{-1});
    writer.set("u16", uint16_t{2});
    writer.set("i16", int16_t{-2});
    writer.set("u32", uint32_t{3});
    writer.set("i32", int32_t{-3});
    writer.set("u64", uint64_t{4});
    writer.set("i64", int64_t{-4});
    writer.set("f32", 0.5f);
    writer.set("f64", 0.25);
    writer.set("bool", false);
    writer.set("text", "t");
    writer.set_array("texts", std::vector<std::string_view>{"a", "b"});
    writer.set_array("u16s", std::vector<uint16_t>{1, 2, 3});
    ASSERT_TRUE(writer.add_tensor("w", DType::F32, {16}, kData));
    const auto bytes = *writer.bytes();
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file) << file.error().what;
    Writer copy;
    for (const auto& [key, value] : file->metadata().entries()) copy.set(key, value);
    for (const auto& tensor : file->tensors())
        ASSERT_TRUE(copy.add_tensor(tensor.name, tensor.dtype,
                                    std::span(tensor.shape).first(tensor.n_dims), tensor.data));
    EXPECT_EQ(*copy.bytes(), bytes);
}

TEST(GgufWriter, SettingAgainReplacesInPlace) {
    Writer writer;
    writer.set("a", uint8_t{1});
    writer.set("b", uint8_t{2});
    writer.set("c", uint8_t{3});
    writer.set("a", "text");
    writer.remove("b");
    const auto bytes = *writer.bytes();
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file) << file.error().what;
    ASSERT_EQ(file->metadata().entries().size(), 2u);
    EXPECT_EQ(file->metadata().entries()[0].key, "a");
    EXPECT_EQ(*file->metadata().get_string("a"), "text");
}

TEST(GgufWriter, FileAndBytesAreTheSameAndStreamingToo) {
    Writer whole, streamed;
    const std::array<uint64_t, 1> shape = {16};
    ASSERT_TRUE(whole.add_tensor("w", DType::F32, shape, kData));
    ASSERT_TRUE(streamed.add_tensor("w", DType::F32, shape, [](const Sink& sink) -> Result<> {
        MINFER_TRY(sink(std::span(kData).first(3)));
        return sink(std::span(kData).subspan(3));
    }));
    const TempDir dir;
    const auto written = streamed.write(dir.path() / "m.gguf");
    ASSERT_TRUE(written) << written.error().what;
    const auto mapped = MappedFile::open(dir.path() / "m.gguf");
    ASSERT_TRUE(mapped) << mapped.error().what;
    const auto bytes = *whole.bytes();
    EXPECT_TRUE(std::ranges::equal(mapped->bytes(), bytes));
}

TEST(GgufWriter, AFailedWriteLeavesTheOldFileAndNothingElse) {
    const TempDir dir;
    const auto path = dir.path() / "m.gguf";
    Writer good;
    good.set("a", uint8_t{1});
    ASSERT_TRUE(good.write(path));
    Writer bad;
    const std::array<uint64_t, 1> shape = {16};
    ASSERT_TRUE(bad.add_tensor("w", DType::F32, shape,
                               [](const Sink&) { return fail(Fault::Io, "source went away"); }));
    const auto written = bad.write(path);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().what, "tensor 'w': source went away");
    EXPECT_TRUE(File::open(path));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
    EXPECT_EQ(good.write(dir.path() / "no folder" / "m.gguf").error().fault, Fault::Io);
}

TEST(GgufWriter, DoesNotPutAFileInThePlaceOfAPipe) {
    const TempDir dir;
    const auto path = dir.path() / "pipe";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    Writer writer;
    ASSERT_TRUE(writer.add_tensor("w", DType::F32, {16}, kData));
    const auto written = writer.write(path);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().what,
                HasSubstr("pipe: is a special file, expected a regular file or none"));
    EXPECT_TRUE(std::filesystem::is_fifo(path));
    EXPECT_TRUE(writer.write(dir.path() / "file"));
    EXPECT_TRUE(writer.write(dir.path() / "file")) << "again, over itself";
}

TEST(GgufWriter, RefusesWhatTheReaderWouldRefuse) {
    Writer writer;
    EXPECT_FALSE(writer.add_tensor(std::string(64, 'x'), DType::F32, {16}, kData));
    EXPECT_FALSE(writer.add_tensor("none", DType::F32, {}, kData));
    EXPECT_FALSE(writer.add_tensor("five", DType::F32, {1, 1, 1, 1, 16}, kData));
    EXPECT_FALSE(writer.add_tensor("zero", DType::F32, {16, 0}, kData));
    EXPECT_FALSE(writer.add_tensor("huge", DType::F32, {1u << 31, 1u << 31, 4}, kData));
    EXPECT_FALSE(writer.add_tensor("wide", DType::F64, {uint64_t{1} << 62}, kData));
    EXPECT_FALSE(writer.add_tensor("odd", DType::Q8_0, {16}, kData));
    EXPECT_TRUE(writer.add_tensor("w", DType::F32, {16}, kData));
    EXPECT_THAT(writer.add_tensor("w", DType::F32, {16}, kData).error().what,
                HasSubstr("added twice"));
    EXPECT_TRUE(writer.bytes());

    Writer short_data, long_data, bad_alignment, bad_key;
    ASSERT_TRUE(short_data.add_tensor("w", DType::F32, {17}, kData));
    EXPECT_THAT(short_data.bytes().error().what, HasSubstr("tensor 'w': 4 bytes less than its 68"));
    ASSERT_TRUE(long_data.add_tensor("w", DType::F32, {15}, kData));
    EXPECT_THAT(long_data.bytes().error().what, HasSubstr("tensor 'w': 4 bytes more than its 60"));
    bad_alignment.set("general.alignment", uint32_t{12});
    EXPECT_THAT(bad_alignment.bytes().error().what, HasSubstr("general.alignment"));
    bad_alignment.set("general.alignment", uint64_t{32});
    EXPECT_THAT(bad_alignment.bytes().error().what, HasSubstr("general.alignment"));
    bad_key.set("", uint8_t{1});
    EXPECT_THAT(bad_key.bytes().error().what, HasSubstr("key ''"));
}

}  // namespace
}  // namespace minfer::gguf
