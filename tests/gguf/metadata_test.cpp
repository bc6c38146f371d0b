#include "gguf/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "gguf/reader.h"
#include "gguf/writer.h"

namespace minfer::gguf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file and the bytes it borrows from.
class GgufMetadata : public ::testing::Test {
  protected:
    const Metadata& read() {
        bytes_ = *writer_.bytes();
        auto file = File::parse(bytes_);
        EXPECT_TRUE(file) << file.error().what;
        file_.emplace(*std::move(file));
        return file_->metadata();
    }

    Writer writer_;
    std::vector<std::byte> bytes_;
    std::optional<File> file_;
};

TEST_F(GgufMetadata, TakesIntegersOfAnyWidthAndSignThatFit) {
    writer_.set("u8", uint8_t{255});
    writer_.set("i8", int8_t{-1});
    writer_.set("u16", uint16_t{65535});
    writer_.set("i16", int16_t{300});
    writer_.set("u32", uint32_t{4'000'000'000});
    writer_.set("i32", int32_t{7});
    writer_.set("u64", uint64_t{1} << 63);
    writer_.set("i64", int64_t{-9});
    const auto& meta = read();
    EXPECT_EQ(*meta.get_uint("u8"), 255u);
    EXPECT_EQ(*meta.get_uint("u16"), 65535u);
    EXPECT_EQ(*meta.get_uint("i16"), 300u);
    EXPECT_EQ(*meta.get_uint("u32"), 4'000'000'000u);
    EXPECT_EQ(*meta.get_uint("i32"), 7u);
    EXPECT_EQ(*meta.get_uint("u64"), uint64_t{1} << 63);
    EXPECT_EQ(*meta.get_int("i8"), -1);
    EXPECT_EQ(*meta.get_int("i64"), -9);
    EXPECT_EQ(*meta.get_int("u32"), 4'000'000'000);
    EXPECT_THAT(meta.get_uint("i8").error().what,
                HasSubstr("key 'i8' is -1 (i8), expected an integer of at least 0"));
    EXPECT_FALSE(meta.get_int("u64"));
    EXPECT_THAT(meta.get_uint("u16", 100).error().what,
                HasSubstr("key 'u16' is 65535 (u16), expected an integer from 0 to 100"));
}

TEST_F(GgufMetadata, TakesFloatsAlsoFromIntegers) {
    writer_.set("f32", 0.5f);
    writer_.set("f64", 1e-6);
    writer_.set("u32", uint32_t{1'000'000});
    writer_.set("flag", true);
    const auto& meta = read();
    EXPECT_EQ(*meta.get_float("f32"), 0.5);
    EXPECT_EQ(*meta.get_float("f64"), 1e-6);
    EXPECT_EQ(*meta.get_float("u32"), 1e6);
    EXPECT_EQ(*meta.get_bool("flag"), true);
    EXPECT_THAT(meta.get_float("flag").error().what,
                HasSubstr("is true (bool), expected a number"));
    EXPECT_THAT(meta.get_uint("f32").error().what, HasSubstr("is 0.5 (f32)"));
    EXPECT_THAT(meta.get_bool("u32").error().what, HasSubstr("expected a bool"));
}

TEST_F(GgufMetadata, FallsBackOnlyWhenAbsent) {
    writer_.set("text", "hi");
    const auto& meta = read();
    EXPECT_EQ(*meta.get_uint_or("none", 5), 5u);
    EXPECT_EQ(*meta.get_int_or("none", -5), -5);
    EXPECT_EQ(*meta.get_float_or("none", 0.25), 0.25);
    EXPECT_EQ(*meta.get_bool_or("none", true), true);
    EXPECT_EQ(*meta.get_string_or("none", "x"), "x");
    EXPECT_EQ(*meta.get_string_or("text", "x"), "hi");
    EXPECT_FALSE(meta.get_uint_or("text", 5));
    EXPECT_FALSE(meta.get_int_or("text", 5));
    EXPECT_FALSE(meta.get_float_or("text", 5));
    EXPECT_FALSE(meta.get_bool_or("text", true));
    const auto missing = meta.get_uint("none");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().fault, Fault::NotFound);
    EXPECT_THAT(missing.error().what, HasSubstr("key 'none' is missing"));
}

TEST_F(GgufMetadata, HandsOutArrays) {
    writer_.set_array("texts", std::vector<std::string>{"a", "", "cc"});
    writer_.set_array("i8", std::vector<int8_t>{-1, 2});
    writer_.set_array("u64", std::vector<uint64_t>{1, uint64_t(-1)});
    writer_.set_array("f32", std::vector<float>{0.5f, -2});
    const bool flags[] = {true, false};
    writer_.set_array("flags", std::span<const bool>(flags));
    writer_.set_array("none", std::vector<int32_t>{});
    writer_.set("one", "text");
    const auto& meta = read();
    EXPECT_THAT(*meta.get_strings("texts"), ElementsAre("a", "", "cc"));
    EXPECT_THAT(*meta.get_ints("i8"), ElementsAre(-1, 2));
    EXPECT_THAT(*meta.get_floats("f32"), ElementsAre(0.5f, -2.f));
    EXPECT_THAT(*meta.get_bools("flags"), ElementsAre(true, false));
    EXPECT_TRUE(meta.get_ints("none")->empty());
    EXPECT_THAT(meta.get_ints("u64").error().what, HasSubstr("element 1 does not fit"));
    EXPECT_THAT(meta.get_ints("texts").error().what,
                HasSubstr("key 'texts' is array of 3 strings"));
    EXPECT_THAT(meta.get_strings("i8").error().what, HasSubstr("expected an array of strings"));
    EXPECT_THAT(meta.get_strings("one").error().what, HasSubstr("is string, expected an array"));
    EXPECT_THAT(meta.get_ints("one").error().what, HasSubstr("is string, expected an array"));
    EXPECT_THAT(meta.get_string("texts").error().what, HasSubstr("array of 3 strings"));
    EXPECT_THAT(meta.get_strings("absent").error().what, HasSubstr("is missing"));
}

TEST_F(GgufMetadata, DescribesValuesForPeople) {
    writer_.set("text", "a\nb\xff");
    writer_.set("long", std::string(200, 'x') + "é");
    writer_.set_array("ints", std::vector<int32_t>{1, 2, 3});
    const auto& meta = read();
    EXPECT_EQ(meta.find("text")->describe(), "'a\\nb\\xff'");
    EXPECT_EQ(meta.find("long")->describe(), "'" + std::string(80, 'x') + "…'");
    EXPECT_EQ(meta.find("ints")->describe(), "[1, 2, 3]");
    EXPECT_EQ(meta.find("ints")->describe(1), "[1, … 3 in all]");
    EXPECT_EQ(meta.find("ints")->describe_type(), "array of 3 i32");
}

}  // namespace
}  // namespace minfer::gguf
