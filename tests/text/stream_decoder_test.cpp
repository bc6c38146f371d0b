#include "text/stream_decoder.h"

#include <gtest/gtest.h>

#include "support/small_vocab.h"

namespace minfer {
namespace {

TEST(StreamDecoder, NeverGivesHalfACharacter) {
    const SmallVocab vocab;
    const auto tokenizer = vocab.tokenizer();
    const std::string text = "na\u00EFve \u6D77 \U0001F600\u200D\U0001F600 end";
    StreamDecoder stream(tokenizer);
    std::string out;
    for (const auto id : tokenizer.encode(text)) {
        const auto given = stream.push(id);
        EXPECT_FALSE(find_invalid_utf8(given));
        out += given;
    }
    EXPECT_EQ(out + stream.flush(), text);
}

TEST(StreamDecoder, InvalidBytesNeverStopTheStream) {
    const SmallVocab vocab;
    const auto tokenizer = vocab.tokenizer();
    StreamDecoder stream(tokenizer);
    std::string out;
    for (const uint8_t id : {0x61, 0xED, 0xA0, 0x80, 0x62, 0xC0, 0x80, 0xF0, 0x9F}) {
        out += stream.push(TokenId{id});
    }
    EXPECT_EQ(out, "a\uFFFDb\uFFFD");
    EXPECT_EQ(stream.flush(), "\uFFFD");
}

TEST(StreamDecoder, PrintsUserDefinedHidesControlSkipsWhatIsNoToken) {
    SmallVocab vocab;
    const auto control = vocab.add("<|im_end|>", TokenKind::Control);
    const auto printed = vocab.add("<think>", TokenKind::UserDefined);
    const auto filler = vocab.add("[PAD258]", TokenKind::Unused);
    const auto tokenizer = vocab.tokenizer();
    StreamDecoder hiding(tokenizer);
    EXPECT_EQ(hiding.push(control), "");
    EXPECT_EQ(hiding.push(printed), "<think>");
    EXPECT_EQ(hiding.push(filler), "");
    EXPECT_EQ(hiding.push(TokenId{-1}), "");
    EXPECT_EQ(hiding.push(TokenId{1 << 30}), "");
    StreamDecoder showing(tokenizer, {.show_control = true});
    EXPECT_EQ(showing.push(control), "<|im_end|>");
}

}  // namespace
}  // namespace minfer
