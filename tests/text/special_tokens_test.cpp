#include "text/special_tokens.h"

#include <gtest/gtest.h>

namespace minfer {
namespace {

// Begin, end and id of the match in one line.
std::string found(const SpecialTokens& tokens, std::string_view text, size_t from = 0,
                  bool parse_control = true) {
    const auto match = tokens.find(text, from, parse_control);
    if (!match) return "none";
    return std::to_string(match->begin) + "-" + std::to_string(match->end) + ":" +
           std::to_string(static_cast<int>(match->id));
}

const SpecialTokens kTokens({{"<a>", TokenId{1}, false},
                             {"<a>b", TokenId{2}, true},
                             {"<a>bc", TokenId{3}, false},
                             {"a", TokenId{4}, true},
                             {"\xE2\x96\x81", TokenId{5}, false},
                             {"", TokenId{6}, false},
                             {"<a>", TokenId{7}, true}});

TEST(SpecialTokens, TakesTheEarliestThenTheLongest) {
    EXPECT_EQ(found(kTokens, "xa<a>bc"), "1-2:4");
    EXPECT_EQ(found(kTokens, "x<a>bc"), "1-6:3");
    EXPECT_EQ(found(kTokens, "x<a>bd"), "1-5:2");
    EXPECT_EQ(found(kTokens, "x<a>c"), "1-4:1");
    EXPECT_EQ(found(kTokens, "x<a"), "2-3:4");
    EXPECT_EQ(found(kTokens, "<a><a>", 1), "1-2:4");
    EXPECT_EQ(found(kTokens, "-\xE2\x96\x81"), "1-4:5");
    EXPECT_EQ(found(kTokens, "\xE2\x96"), "none");
    EXPECT_EQ(found(kTokens, ""), "none");
}

TEST(SpecialTokens, LeavesControlTokensAloneUnlessAsked) {
    EXPECT_EQ(found(kTokens, "a<a>bd", 0, false), "1-4:1");
    EXPECT_EQ(found(kTokens, "a<a>bc", 0, false), "1-6:3");
    EXPECT_EQ(found(kTokens, "aaa", 0, false), "none");
}

TEST(SpecialTokens, WithoutTokensNothingIsFound) {
    EXPECT_EQ(found(SpecialTokens(), "<a>"), "none");
}

}  // namespace
}  // namespace minfer
