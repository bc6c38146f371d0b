#include "text/tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/small_vocab.h"

namespace minfer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void expect_refused(const VocabSource& source, Fault fault, const std::vector<std::string>& words) {
    const auto made = Tokenizer::create(source);
    ASSERT_FALSE(made) << words[0];
    EXPECT_EQ(made.error().fault, fault) << made.error().what;
    for (const auto& word : words) EXPECT_THAT(made.error().what, HasSubstr(word));
}

TEST(Tokenizer, RefusesOtherModelsAndPreTokenizers) {
    const SmallVocab vocab;
    auto source = vocab.source();
    source.model = "llama";
    expect_refused(source, Fault::Unsupported, {"tokenizer.ggml.model", "'llama'", "gpt2"});
    source = vocab.source();
    source.pre = "gpt-4o";
    expect_refused(source, Fault::Unsupported, {"tokenizer.ggml.pre", "'gpt-4o'", "qwen2"});
    source.pre = "";
    expect_refused(source, Fault::Unsupported, {"tokenizer.ggml.pre", "missing", "qwen35"});
}

TEST(Tokenizer, AcceptsEveryNameOfItsPreTokenizers) {
    const SmallVocab vocab;
    auto source = vocab.source();
    EXPECT_EQ(Tokenizer::create(source)->pre_tokenizer(), PreTokenizer::Qwen2);
    source.pre = "deepseek-r1-qwen";
    EXPECT_EQ(Tokenizer::create(source)->pre_tokenizer(), PreTokenizer::Qwen2);
    source.pre = "qwen35";
    EXPECT_EQ(Tokenizer::create(source)->pre_tokenizer(), PreTokenizer::Qwen35);
}

TEST(Tokenizer, RefusesArraysThatDoNotFit) {
    const SmallVocab vocab;
    auto source = vocab.source();
    source.kinds->pop_back();
    expect_refused(source, Fault::BadInput, {"tokenizer.ggml.token_type", "255", "256"});
    source = vocab.source();
    source.kinds->at(7) = 9;
    expect_refused(source, Fault::BadInput, {"token_type[7] is 9", "1 to 6"});
    source = vocab.source();
    source.n_scores = 3;
    expect_refused(source, Fault::BadInput, {"tokenizer.ggml.scores", "3", "256"});
    source = vocab.source();
    source.tokens.clear();
    expect_refused(source, Fault::BadInput, {"tokenizer.ggml.tokens"});
}

TEST(Tokenizer, QuotesTextsOfTheFileWithoutTheirControlBytes) {
    const SmallVocab vocab;
    auto source = vocab.source();
    source.model = "\x1b[2J\xff";
    expect_refused(source, Fault::Unsupported, {"'\\x1b[2J\\xff'"});
    source = vocab.source();
    source.pre = "\x1b[2J\xff";
    expect_refused(source, Fault::Unsupported, {"'\\x1b[2J\\xff'"});
    source = vocab.source();
    source.merges = {"\x1b[2J\xff"};
    expect_refused(source, Fault::BadInput, {"merges[0] is '\\x1b[2J\\xff'"});
}

TEST(Tokenizer, RefusesMissingAndMalformedMerges) {
    const SmallVocab vocab;
    auto source = vocab.source();
    source.merges.clear();
    expect_refused(source, Fault::BadInput, {"tokenizer.ggml.merges", "missing or empty"});
    for (const std::string_view bad : {"", "a", "ab", " a", "a "}) {
        source.merges = {"a b", bad};
        expect_refused(source, Fault::BadInput, {"tokenizer.ggml.merges[1]"});
    }
}

TEST(Tokenizer, RefusesAVocabularyThatLacksAByte) {
    SmallVocab vocab;
    vocab.tokens[0x0A] = "newline";
    expect_refused(vocab.source(), Fault::BadInput, {"tokenizer.ggml.tokens", "byte 0x0A"});
    SmallVocab unused;
    unused.kinds[0xE4] = static_cast<int32_t>(TokenKind::Unused);
    expect_refused(unused.source(), Fault::BadInput, {"byte 0xE4"});
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
    const SmallVocab vocab;
    auto source = vocab.source();
    source.bos = 256;
    expect_refused(source, Fault::BadInput, {"bos_token_id is 256", "256 tokens"});
    source = vocab.source();
    source.eos = -1;
    expect_refused(source, Fault::BadInput, {"eos_token_id is -1"});
    source = vocab.source();
    source.eot = int64_t{1} << 40;
    expect_refused(source, Fault::BadInput, {"eot_token_id is 1099511627776"});
    source = vocab.source();
    source.pad = 1000;
    expect_refused(source, Fault::BadInput, {"padding_token_id is 1000"});
    source = vocab.source();
    source.add_bos = true;
    expect_refused(source, Fault::BadInput, {"add_bos_token", "bos_token_id"});
}

TEST(Tokenizer, CutsOutSpecialTokensWithoutTrimming) {
    SmallVocab vocab;
    const auto end = vocab.add("<|im_end|>", TokenKind::Control);
    const auto think = vocab.add("<think>", TokenKind::UserDefined);
    const auto tokenizer = vocab.tokenizer();
    EXPECT_THAT(tokenizer.encode(" <think> <|im_end|>\n"),
                ElementsAre(TokenId{' '}, think, TokenId{' '}, end, TokenId{'\n'}));
    const auto plain = tokenizer.encode("<think><|im_end|>", {.parse_special = false});
    EXPECT_EQ(plain.size(), 11u) << "user-defined always, control only on request";
    EXPECT_EQ(plain[0], think);
}

TEST(Tokenizer, MergesNeverMakeASpecialToken) {
    SmallVocab vocab;
    const auto control = vocab.add("ab", TokenKind::Control);
    const auto tokenizer = vocab.tokenizer();
    EXPECT_THAT(tokenizer.encode("ab"), ElementsAre(control));
    EXPECT_THAT(tokenizer.encode("ab", {.parse_special = false}),
                ElementsAre(TokenId{'a'}, TokenId{'b'}));
}

TEST(Tokenizer, TextDecidesWhatQwensControlTokensAre) {
    SmallVocab vocab;
    const auto end = vocab.add("<|im_end|>");
    const auto start = vocab.add("<|im_start|>", TokenKind::UserDefined);
    auto source = vocab.source();
    source.kinds.reset();
    for (const auto& tokenizer : {vocab.tokenizer(), *Tokenizer::create(source)}) {
        EXPECT_EQ(tokenizer.kind(end), TokenKind::Control);
        EXPECT_EQ(tokenizer.kind(start), TokenKind::Control);
        EXPECT_TRUE(tokenizer.is_end(end));
        EXPECT_FALSE(tokenizer.is_end(start));
        EXPECT_EQ(tokenizer.piece(end), "");
    }
}

TEST(Tokenizer, EndSetIsEosEotAndTheEndingTexts) {
    SmallVocab vocab;
    const auto text = vocab.add("<|endoftext|>", TokenKind::Control);
    const auto eot = vocab.add("<stop>", TokenKind::Control);
    const auto eos = vocab.add("<done>", TokenKind::Control);
    auto source = vocab.source();
    source.eos = static_cast<int64_t>(eos);
    source.eot = static_cast<int64_t>(eot);
    const auto tokenizer = Tokenizer::create(source);
    ASSERT_TRUE(tokenizer) << tokenizer.error().what;
    EXPECT_THAT(tokenizer->end_tokens(), ElementsAre(text, eot, eos));
    EXPECT_EQ(tokenizer->eos(), eos);
    EXPECT_FALSE(tokenizer->is_end(TokenId{'a'}));
}

TEST(Tokenizer, PrependsBosOnceAndOnlyIfTheFileAsks) {
    SmallVocab vocab;
    const auto bos = vocab.add("<s>", TokenKind::Control);
    auto source = vocab.source();
    source.bos = static_cast<int64_t>(bos);
    EXPECT_THAT(Tokenizer::create(source)->encode("x"), ElementsAre(TokenId{'x'}));
    source.add_bos = true;
    const auto tokenizer = Tokenizer::create(source);
    ASSERT_TRUE(tokenizer) << tokenizer.error().what;
    EXPECT_THAT(tokenizer->encode("x"), ElementsAre(bos, TokenId{'x'}));
    EXPECT_THAT(tokenizer->encode(""), ElementsAre(bos));
    EXPECT_THAT(tokenizer->encode("<s>x"), ElementsAre(bos, TokenId{'x'}));
    EXPECT_THAT(tokenizer->encode("x", {.add_bos = false}), ElementsAre(TokenId{'x'}));
}

TEST(Tokenizer, EveryBadByteBecomesItsByteToken) {
    SmallVocab vocab;
    vocab.add("ä½");  // the bytes E4 BD, which a merge would join
    vocab.merges = {"ä ½"};
    const auto tokenizer = vocab.tokenizer();
    EXPECT_THAT(numbers(tokenizer.encode("\xE4\xBD")), ElementsAre(0xE4, 0xBD));
    EXPECT_THAT(numbers(tokenizer.encode("\xE4\xBD\xA0")), ElementsAre(256, 0xA0));
}

TEST(Tokenizer, EveryByteStringSurvives) {
    const SmallVocab vocab;
    const auto tokenizer = vocab.tokenizer();
    std::string bytes;
    for (int b = 0; b < 256; ++b) bytes.push_back(static_cast<char>(b));
    for (int b = 255; b >= 0; --b) bytes.push_back(static_cast<char>(b));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
}

TEST(Tokenizer, DecodeRefusesAnIdOutsideTheVocabulary) {
    const SmallVocab vocab;
    const auto tokenizer = vocab.tokenizer();
    for (const int id : {-1, 256}) {
        const auto text = tokenizer.decode(std::vector{TokenId{'a'}, TokenId{id}});
        ASSERT_FALSE(text);
        EXPECT_THAT(text.error().what, HasSubstr(fmt::format("token id {}", id)));
        EXPECT_EQ(tokenizer.piece(TokenId{id}), "");
    }
}

TEST(Tokenizer, KeepsTheTextOfTokensOutsideTheByteAlphabet) {
    SmallVocab vocab;
    const auto id = vocab.add("two words");
    EXPECT_EQ(vocab.tokenizer().piece(id), "two words");
}

TEST(Tokenizer, FindsASpecialTokenBeforeAnOrdinaryOne) {
    SmallVocab vocab;
    const auto ordinary = vocab.add("<x>");
    EXPECT_EQ(vocab.tokenizer().find("<x>"), ordinary);
    const auto special = vocab.add("<x>", TokenKind::UserDefined);
    EXPECT_EQ(vocab.tokenizer().find("<x>"), special);
    EXPECT_EQ(vocab.tokenizer().find("\n"), TokenId{'\n'});
    EXPECT_EQ(vocab.tokenizer().find("nothing"), std::nullopt);
    EXPECT_EQ(vocab.tokenizer().find(""), std::nullopt);
}

}  // namespace
}  // namespace minfer
