#include "text/pretokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "text/golden.h"
#include "text/unicode.h"

namespace minfer {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces(PreTokenizer rules, std::string_view text) {
    std::vector<std::string> out;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = piece_end(rules, text, begin);
        out.emplace_back(text.substr(begin, end - begin));
        begin = end;
    }
    return out;
}

void expect_pieces(PreTokenizer rules, std::string_view cases) {
    size_t n_cases = 0;
    for (const auto& row : tokenizer_golden()[cases]) {
        const auto text = row[0].get<std::string>();
        EXPECT_EQ(pieces(rules, text), row[1].get<std::vector<std::string>>()) << row[0];
        ++n_cases;
    }
    EXPECT_GT(n_cases, 150u);
}

TEST(PreTokenizer, CutsLikeTheQwen2Pattern) { expect_pieces(PreTokenizer::Qwen2, "qwen2_pieces"); }

TEST(PreTokenizer, CutsLikeTheQwen35Pattern) {
    expect_pieces(PreTokenizer::Qwen35, "qwen35_pieces");
}

TEST(PreTokenizer, MarksBelongToWordsInQwen35Only) {
    EXPECT_THAT(pieces(PreTokenizer::Qwen2, "cafe\u0301"), ElementsAre("cafe", "\u0301"));
    EXPECT_THAT(pieces(PreTokenizer::Qwen35, "cafe\u0301"), ElementsAre("cafe\u0301"));
}

TEST(PreTokenizer, KnowsTheClassOfEveryCodePoint) {
    uint64_t checksum = 0xCBF29CE484222325;  // FNV-1a over one byte for each code point
    for (char32_t point = 0; point < 0x110000; ++point) {
        checksum = (checksum ^ static_cast<uint8_t>(char_class(point))) * 0x100000001B3;
    }
    EXPECT_EQ(fmt::format("{:016x}", checksum),
              tokenizer_golden()["class_checksum"].get<std::string>());
}

TEST(PreTokenizer, EveryBadByteIsAPiece) {
    EXPECT_THAT(pieces(PreTokenizer::Qwen2, "a\xE4\xBD!\xFF  \x80z"),
                ElementsAre("a", "\xE4", "\xBD", "!", "\xFF", " ", " ", "\x80", "z"));
}

}  // namespace
}  // namespace minfer
