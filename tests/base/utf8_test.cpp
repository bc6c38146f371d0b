#include "base/utf8.h"

#include <gmock/gmock.h>

#include <vector>

namespace minfer {
namespace {

constexpr std::string_view kMark = "\xEF\xBF\xBD";  // U+FFFD

std::string joined(const std::vector<std::string_view>& parts) {
    Utf8Joiner joiner;
    std::string out;
    for (const auto part : parts) out += joiner.push(part);
    return out + joiner.flush();
}

TEST(Utf8, ReadsBackEveryCodePoint) {
    for (char32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point >= 0xD800 && point < 0xE000) continue;
        std::string text;
        append_utf8(text, point);
        const auto read = code_point_at(text, 0);
        ASSERT_EQ(read.value, point);
        ASSERT_EQ(read.n_bytes, text.size());
        ASSERT_FALSE(find_invalid_utf8(text));
    }
}

TEST(Utf8, NamesTheFirstBadByte) {
    EXPECT_EQ(find_invalid_utf8("caf\xC3\xA9"), std::nullopt);
    EXPECT_EQ(find_invalid_utf8("caf\xC3"), 3u);
    EXPECT_EQ(find_invalid_utf8("\xC3\xA9\x80"), 2u);
    EXPECT_EQ(find_invalid_utf8("ab\xED\xA0\x80"), 2u) << "surrogate";
    EXPECT_EQ(find_invalid_utf8("\xC0\x80"), 0u) << "overlong";
    EXPECT_EQ(find_invalid_utf8("\xE0\x9F\xBF"), 0u) << "overlong";
    EXPECT_EQ(find_invalid_utf8("\xF0\x8F\xBF\xBF"), 0u) << "overlong";
    EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u) << "above U+10FFFF";
    EXPECT_EQ(find_invalid_utf8("\xFF"), 0u);
}

TEST(Utf8Joiner, GivesWholeCharactersHoweverTheBytesAreSplit) {
    const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    for (unsigned cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
        Utf8Joiner joiner;
        std::string out;
        size_t begin = 0;
        for (size_t end = 1; end <= text.size(); ++end) {
            if (end < text.size() && !(cuts >> (end - 1) & 1)) continue;
            const auto given = joiner.push(std::string_view(text).substr(begin, end - begin));
            ASSERT_FALSE(find_invalid_utf8(given)) << cuts;
            out += given;
            begin = end;
        }
        ASSERT_EQ(out, text) << cuts;  // nothing was held back longer than needed
        ASSERT_EQ(joiner.flush(), "") << cuts;
    }
}

TEST(Utf8Joiner, HoldsNothingThatIsComplete) {
    Utf8Joiner joiner;
    EXPECT_EQ(joiner.push("\xF0\x9F\x98"), "");
    EXPECT_EQ(joiner.push("\x80\xE2"), "\xF0\x9F\x98\x80");
    EXPECT_EQ(joiner.push("\x82"), "");
    EXPECT_EQ(joiner.flush(), kMark);
    EXPECT_EQ(joiner.flush(), "");
    EXPECT_EQ(joiner.push("ok"), "ok");
}

TEST(Utf8Joiner, ReplacesOneInvalidSequenceByOneMark) {
    const auto mark = std::string(kMark);
    for (const std::string_view bad :
         {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80",
          "\xF0\x8F\xBF\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80",
          "\xF7\xBF\xBF\xBF", "\x80", "\xBF", "\xF8", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
        EXPECT_EQ(joined({"a", bad, "b"}), "a" + mark + "b");
        EXPECT_EQ(joined({bad}), mark);
        for (size_t cut = 1; cut < bad.size(); ++cut) {
            EXPECT_EQ(joined({bad.substr(0, cut), bad.substr(cut), "b"}), mark + "b");
        }
    }
    EXPECT_EQ(joined({"\x80\x80"}), mark + mark);
    EXPECT_EQ(joined({"\xC3\xC3\xA9"}), mark + "\xC3\xA9") << "cut short by the next character";
    EXPECT_EQ(joined({"\xF0\x9F\xFF"}), mark + mark);
}

}  // namespace
}  // namespace minfer
