#include "text/bpe.h"

#include <gmock/gmock.h>

#include <string>

namespace minfer {
namespace {

using testing::ElementsAre;

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

// The bytes, as tokens 0 to 255, and more tokens after them.
class Vocab {
  public:
    Vocab(const std::vector<std::string_view>& more, const Pairs& merges) {
        std::array<TokenId, 256> byte_tokens;
        for (int b = 0; b < 256; ++b) byte_tokens[static_cast<size_t>(b)] = TokenId{b};
        std::vector<std::string_view> tokens(256);
        tokens.insert(tokens.end(), more.begin(), more.end());
        pairs_ = BytePairEncoder::build(tokens, byte_tokens, merges);
    }

    std::vector<int> encode(std::string_view piece) {
        std::vector<TokenId> ids;
        pairs_.encode(piece, work_, ids);
        std::vector<int> out;
        for (const auto id : ids) out.push_back(static_cast<int>(id));
        return out;
    }
    size_t steps() const { return work_.steps; }

  private:
    BytePairEncoder pairs_;
    BytePairEncoder::Workspace work_;
};

TEST(BytePairEncoder, MergesTheLowestRankFirst) {
    Vocab vocab({"ab", "bc", "abc"}, {{"b", "c"}, {"a", "b"}, {"a", "bc"}});
    EXPECT_THAT(vocab.encode("abc"), ElementsAre(258));
    EXPECT_THAT(vocab.encode("ab"), ElementsAre(256));
    EXPECT_THAT(vocab.encode("abb"), ElementsAre(256, 'b'));
    Vocab other({"ab", "bc", "abc"}, {{"a", "b"}, {"b", "c"}, {"a", "bc"}});
    EXPECT_THAT(other.encode("abc"), ElementsAre(256, 'c')) << "no whole-piece shortcut";
}

TEST(BytePairEncoder, MergesTheLeftmostOfEqualRanks) {
    Vocab vocab({"aa", "aaaa"}, {{"a", "a"}, {"aa", "aa"}});
    EXPECT_THAT(vocab.encode("aaa"), ElementsAre(256, 'a'));
    EXPECT_THAT(vocab.encode("aaaaaaa"), ElementsAre(257, 256, 'a'));
}

TEST(BytePairEncoder, TheFirstOfTwoEqualMergesCounts) {
    Vocab vocab({"ab", "bc"}, {{"a", "b"}, {"b", "c"}, {"a", "b"}});
    EXPECT_THAT(vocab.encode("abc"), ElementsAre(256, 'c'));
}

TEST(BytePairEncoder, APieceThatIsNoTokenBecomesItsBytes) {
    Vocab vocab({"abc"}, {{"a", "b"}, {"ab", "c"}});
    EXPECT_THAT(vocab.encode("ab"), ElementsAre('a', 'b'));
    EXPECT_THAT(vocab.encode("abc"), ElementsAre(256)) << "reached through a symbol without token";
}

TEST(BytePairEncoder, WorkGrowsInStepWithTheLength) {
    std::vector<std::string> runs;
    for (size_t n = 2; n <= 64; n *= 2) runs.emplace_back(n, 'a');
    Pairs merges = {{"a", "a"}};
    for (size_t i = 0; i + 1 < runs.size(); ++i) merges.emplace_back(runs[i], runs[i]);
    Vocab vocab({runs.begin(), runs.end()}, merges);
    const std::string megabyte(size_t{1} << 20, 'a');
    EXPECT_EQ(vocab.encode(megabyte), std::vector<int>(megabyte.size() / 64, 261));
    // Each byte enters the heap at most once and each merge adds at most two entries, so at most
    // three entries for each byte go in and come out again.
    EXPECT_LE(vocab.steps(), 6 * megabyte.size());
    EXPECT_GE(vocab.steps(), megabyte.size()) << "the counter counts";
}

}  // namespace
}  // namespace minfer
