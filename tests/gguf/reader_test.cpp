#include "gguf/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "gguf/split.h"
#include "gguf/writer.h"
#include "support/raw_gguf.h"
#include "support/temp_dir.h"

namespace minfer::gguf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The reason `bytes` is refused, or "accepted".
std::string refusal(const std::vector<std::byte>& bytes) {
    const auto file = File::parse(bytes);
    return file ? "accepted" : file.error().what;
}

std::string refusal(const RawGguf& raw) { return refusal(raw.bytes()); }

// Reads everything a parsed file offers, so that a sanitizer sees a view that leaves the bytes.
void touch(const File& file) {
    unsigned sum = 0;
    for (const auto& tensor : file.tensors()) {
        ASSERT_EQ(tensor.data.size(), row_bytes(tensor.dtype, tensor.values()));
        for (const auto byte : tensor.data) sum += std::to_integer<unsigned>(byte);
        ASSERT_EQ(file.find(tensor.name), &tensor);
    }
    for (const auto& [key, value] : file.metadata().entries()) {
        sum += static_cast<unsigned>(value.describe(SIZE_MAX, SIZE_MAX).size());
        ASSERT_EQ(file.metadata().find(key), &value);
    }
    ASSERT_GE(sum, 0u);
}

std::vector<std::byte> sample_file() {
    static const auto f32 = std::vector<std::byte>(4 * 3 * 2, std::byte{1});
    static const auto q8 = std::vector<std::byte>(34 * 2, std::byte{2});
    Writer writer;
    writer.set("general.architecture", "qwen3");
    writer.set("a.u8", uint8_t{200});
    writer.set("a.i64", int64_t{-5});
    writer.set("a.f32", 1.5f);
    writer.set("a.bool", true);
    writer.set_array("a.tokens", std::vector<std::string>{"a", "", "ü"});
    writer.set_array("a.types", std::vector<int32_t>{1, 2, 3});
    writer.set("general.alignment", uint32_t{64});
    EXPECT_TRUE(writer.add_tensor("w.f32", DType::F32, {3, 2}, f32));
    EXPECT_TRUE(writer.add_tensor("w.q8", DType::Q8_0, {64}, q8));
    return *writer.bytes();
}

TEST(GgufReader, GivesBackWhatWasWritten) {
    const auto bytes = sample_file();
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(file->version(), 3u);
    EXPECT_EQ(file->alignment(), 64u);
    EXPECT_EQ(*file->metadata().get_string("general.architecture"), "qwen3");
    EXPECT_EQ(*file->metadata().get_uint("a.u8"), 200u);
    EXPECT_EQ(*file->metadata().get_int("a.i64"), -5);
    EXPECT_EQ(*file->metadata().get_strings("a.tokens")->begin(), "a");
    ASSERT_EQ(file->tensors().size(), 2u);
    const auto* const tensor = file->find("w.q8");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->dtype, DType::Q8_0);
    EXPECT_EQ(tensor->shape, (std::array<uint64_t, 4>{64, 1, 1, 1}));
    EXPECT_EQ(tensor->n_dims, 1u);
    EXPECT_EQ(tensor->data.size(), 68u);
    EXPECT_EQ(tensor->data[67], std::byte{2});
    EXPECT_EQ((tensor->data.data() - bytes.data()) % 64, 0);
    EXPECT_EQ(file->find("w.q4"), nullptr);
    touch(*file);
}

TEST(GgufReader, EveryPrefixFailsPolitely) {
    const auto bytes = sample_file();
    const size_t last_byte = bytes.size() - 60;  // the padding behind w.q8 may be absent
    for (size_t size = 0; size < bytes.size(); ++size) {
        // A copy of exactly that size, so that a sanitizer sees a read past the end.
        const auto prefix = std::vector<std::byte>(bytes.begin(), bytes.begin() + ptrdiff_t(size));
        const auto file = File::parse(prefix);
        EXPECT_EQ(file.has_value(), size >= last_byte) << size;
        if (!file) EXPECT_FALSE(file.error().what.empty());
    }
}

TEST(GgufReader, EveryOneByteChangeLoadsOrFailsPolitely) {
    const auto bytes = sample_file();
    size_t refused = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
        for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
            auto changed = bytes;
            changed[i] ^= static_cast<std::byte>(change);
            const auto file = File::parse(changed);
            if (file) touch(*file);
            if (!file) ++refused;
        }
    }
    EXPECT_GT(refused, 1500u);  // most of the header is load-bearing
}

TEST(GgufReader, ReadsVersionTwo) {
    auto bytes = sample_file();
    bytes[4] = std::byte{2};
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(file->version(), 2u);
}

TEST(GgufReader, AcceptsAFileWithoutTensors) {
    const auto bytes = RawGguf{.keys = {raw_key("a", ValueType::U8, uint8_t{1})}}.bytes();
    const auto file = File::parse(bytes);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_TRUE(file->tensors().empty());
}

TEST(GgufReader, NamesForeignFilesAndVersions) {
    EXPECT_THAT(refusal(raw_bytes("")), HasSubstr("not a GGUF file: only 0 bytes"));
    EXPECT_THAT(refusal(raw_bytes("PK\x03\x04....")), HasSubstr("begins with 'PK\\x03\\x04'"));
    EXPECT_THAT(refusal(RawGguf{.version = 1}), HasSubstr("GGUF version 1, versions 2 and 3"));
    EXPECT_THAT(refusal(RawGguf{.version = 4}), HasSubstr("GGUF version 4, versions 2 and 3"));
    EXPECT_THAT(refusal(RawGguf{.version = 0}), HasSubstr("GGUF version 0"));
    EXPECT_THAT(refusal(RawGguf{.version = 0x03000000}),
                AllOf(HasSubstr("version 3"), HasSubstr("endianness")));
}

TEST(GgufReader, RefusesCountsTheFileCannotHold) {
    EXPECT_THAT(refusal(RawGguf{.tensor_count = uint64_t(-1)}),
                HasSubstr("tensor count is -1, the 8 bytes left hold at most 0"));
    EXPECT_THAT(refusal(RawGguf{.key_count = uint64_t{1} << 40}),
                HasSubstr("key count is 1099511627776"));
}

TEST(GgufReader, RefusesBadKeys) {
    const auto with = [](std::string key) { return refusal(RawGguf{.keys = {std::move(key)}}); };
    const auto u8 = raw_key("a", ValueType::U8, uint8_t{1});
    EXPECT_THAT(refusal(RawGguf{.keys = {u8, u8}}),
                HasSubstr("key 'a' occurs twice (entries 0 and 1)"));
    EXPECT_THAT(with(raw_key("", ValueType::U32, uint32_t{1})),
                HasSubstr("key 0 of 1 has no name"));
    EXPECT_THAT(with(raw_key("\xff", ValueType::U8, uint8_t{1})),
                HasSubstr("'\\xff', is not UTF-8"));
    EXPECT_THAT(with(raw_text("a") + raw(uint32_t{13}) + raw(uint64_t{0})),
                HasSubstr("key 'a': value type 13, known are 0 to 12"));
    EXPECT_THAT(with(raw_key("a", ValueType::Bool, uint8_t{2})),
                HasSubstr("key 'a': bool 0 is 2, expected 0 or 1"));
    EXPECT_THAT(with(raw_key("a", ValueType::String, uint64_t{99})),
                HasSubstr("key 'a': string of 99 bytes at byte 45, 0 are left"));
    EXPECT_THAT(with(raw_key("a", ValueType::String, uint64_t{1} << 31)),
                HasSubstr("at most 1073741824 are allowed"));
    EXPECT_THAT(with(raw_text("long enough to pass") + raw(uint32_t{6}) + "ab"),
                HasSubstr("key 'long enough to pass': needs 4 bytes at byte 55, 2 are left"));
}

TEST(GgufReader, RefusesBadArrays) {
    const auto with = [](ValueType element, uint64_t count, std::string rest = {}) {
        return refusal(RawGguf{.keys = {raw_array("a", element, count, std::move(rest))}});
    };
    EXPECT_THAT(with(ValueType::Array, 1), HasSubstr("key 'a': array of arrays"));
    EXPECT_THAT(with(static_cast<ValueType>(77), 1), HasSubstr("value type 77"));
    EXPECT_THAT(with(ValueType::U32, 3, "12345678901"), HasSubstr("array of 3 u32 at byte 49, 11"));
    EXPECT_THAT(with(ValueType::U64, (uint64_t{1} << 61) + 1), HasSubstr("at most 1073741824"));
    EXPECT_THAT(with(ValueType::String, 5, raw_text("x")), HasSubstr("array of 5 strings"));
    EXPECT_THAT(with(ValueType::String, 1, raw(uint64_t{9})),
                HasSubstr("element 0: string of 9 bytes"));
    EXPECT_THAT(with(ValueType::Bool, 2, std::string("\x01\x03", 2)), HasSubstr("bool 1 is 3"));
    EXPECT_EQ(with(ValueType::String, 0), "accepted");
}

TEST(GgufReader, RefusesBadAlignment) {
    const auto with = [](ValueType type, auto value) {
        return refusal(RawGguf{.keys = {raw_key("general.alignment", type, value)}});
    };
    for (const uint32_t bad : {0u, 1u, 4u, 24u, 33u})
        EXPECT_THAT(with(ValueType::U32, bad), HasSubstr("key 'general.alignment' is")) << bad;
    EXPECT_THAT(with(ValueType::U64, uint64_t{32}), HasSubstr("expected a u32"));
    EXPECT_EQ(with(ValueType::U32, 8u), "accepted");
    EXPECT_EQ(with(ValueType::U32, 1u << 31), "accepted");
}

TEST(GgufReader, RefusesBadTensors) {
    const auto with = [](const RawTensor& tensor) {
        return refusal(RawGguf{.tensors = {tensor}, .data = std::string(128, 'x')});
    };
    EXPECT_EQ(with({}), "accepted");
    EXPECT_THAT(with({.name = std::string(64, 'n')}), HasSubstr("64 bytes, at most 63"));
    EXPECT_THAT(with({.shape = {}}), HasSubstr("tensor 'w': 0 dimensions, allowed are 1 to 4"));
    EXPECT_THAT(with({.shape = {1, 1, 1, 1, 1}}), HasSubstr("5 dimensions"));
    EXPECT_THAT(with({.shape = {32, 0}}), HasSubstr("tensor 'w': dimension 1 is 0, expected at"));
    EXPECT_THAT(with({.shape = {uint64_t(-32)}}), HasSubstr("dimension 0 is -32"));
    EXPECT_THAT(with({.shape = {1u << 31, 1u << 31, 1u << 31}}),
                HasSubstr("more values than 64 bits"));
    EXPECT_THAT(with({.shape = {uint64_t{1} << 62}}), HasSubstr("more bytes than 64 bits"));
    EXPECT_THAT(with({.type = 8, .shape = {33}}),
                HasSubstr("rows of 33 values, Q8_0 needs a multiple of 32"));
    EXPECT_THAT(with({.offset = 16}), HasSubstr("offset 16 is not a multiple of the alignment 32"));
    EXPECT_THAT(with({.offset = 32}), HasSubstr("begins at data byte 32, expected 0 (gap after"));
    EXPECT_THAT(with({.shape = {40}}), AllOf(HasSubstr("tensor 'w': F32 [40] needs 160 bytes"),
                                             HasSubstr("32 bytes are missing: incomplete")));
    EXPECT_THAT(with({.shape = {uint64_t{1} << 61}}), HasSubstr("incomplete download?"));
}

TEST(GgufReader, RefusesRemovedAndUnknownTensorTypes) {
    for (const uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u})
        EXPECT_THAT(refusal(RawGguf{.tensors = {{.type = type}}}), HasSubstr("removed"));
    EXPECT_THAT(refusal(RawGguf{.tensors = {{.type = 4}}}), HasSubstr("Q4_2"));
    EXPECT_THAT(refusal(RawGguf{.tensors = {{.type = 4711}}}),
                HasSubstr("tensor 'w': tensor type 4711 is unknown"));
}

TEST(GgufReader, RefusesOverlapsGapsAndDuplicates) {
    const auto pair = [](const RawTensor& second) {
        return refusal(RawGguf{.tensors = {{.name = "a"}, second}, .data = std::string(256, 'x')});
    };
    EXPECT_EQ(pair({.name = "b", .offset = 32}), "accepted");
    EXPECT_THAT(pair({.name = "b", .offset = 0}),
                HasSubstr("tensor 'b': begins at data byte 0, expected 32 (overlap with 'a')"));
    EXPECT_THAT(pair({.name = "b", .offset = 64}), HasSubstr("(gap after 'a')"));
    EXPECT_THAT(pair({.name = "b", .offset = uint64_t(-32)}), HasSubstr("gap"));
    EXPECT_THAT(pair({.name = "a", .offset = 32}), HasSubstr("tensor 'a' occurs twice"));
}

TEST(GgufReader, MapsFilesWithoutCopying) {
    const TempDir dir;
    const auto path = dir.path() / "model.gguf";
    write_file(path, sample_file());
    auto opened = File::open(path);
    ASSERT_TRUE(opened) << opened.error().what;
    const auto file = *std::move(opened);  // views survive the move
    ASSERT_EQ(file.parts().size(), 1u);
    const auto mapping = file.parts()[0].bytes();
    for (const auto& tensor : file.tensors()) {
        EXPECT_GE(tensor.data.data(), mapping.data());
        EXPECT_LE(tensor.data.data() + tensor.data.size(), mapping.data() + mapping.size());
    }
    touch(file);
}

TEST(GgufReader, PutsThePathInFrontOfErrors) {
    const TempDir dir;
    const auto path = dir.path() / "bad.gguf";
    write_file(path, raw_bytes("GGUF"));
    const auto file = File::open(path);
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().what, HasSubstr("bad.gguf: version: needs 4 bytes"));
    const auto missing = File::open(dir.path() / "none.gguf");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().fault, Fault::NotFound);
}

}  // namespace
}  // namespace minfer::gguf
