// Our ids against those of Hugging Face tokenizers without its NFC step.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "support/hub_tokenizer.h"
#include "support/small_vocab.h"
#include "text/golden.h"
#include "text/tokenizer.h"

namespace minfer {
namespace {

void expect_ids(const Tokenizer& tokenizer, std::string_view cases) {
    size_t n_cases = 0;
    for (const auto& row : tokenizer_golden()[cases]) {
        const auto text = row[0].get<std::string>();
        const auto ids = tokenizer.encode(text);
        EXPECT_EQ(numbers(ids), row[1].get<std::vector<int>>()) << row[0];
        const auto back = tokenizer.decode(ids, {.show_control = true});
        ASSERT_TRUE(back) << back.error().what;
        EXPECT_EQ(*back, text);
        const auto plain = tokenizer.encode(text, {.parse_special = false});
        EXPECT_EQ(numbers(plain), row.back().get<std::vector<int>>()) << row[0];
        EXPECT_EQ(tokenizer.decode(plain), text);
        ++n_cases;
    }
    EXPECT_GT(n_cases, 200u);
}

TEST(TokenizerGolden, SmallVocabularyGivesTheReferenceIds) {
    const auto vocab = read_hub_vocab(tokenizer_golden()["small"]);
    const auto tokenizer = Tokenizer::create(vocab.source());
    ASSERT_TRUE(tokenizer) << tokenizer.error().what;
    expect_ids(*tokenizer, "small_cases");
}

TEST(TokenizerGolden, Qwen3GivesTheReferenceIds) {
    const char* data = std::getenv("MINFER_TEST_DATA");
    if (data == nullptr) {
        std::cerr << "left out: ids of the published Qwen3 tokenizer (MINFER_TEST_DATA is unset)\n";
        return;
    }
    const auto path = std::filesystem::path(data) / "qwen3-tokenizer/tokenizer.json.xz";
    const auto vocab = read_hub_vocab(nlohmann::json::parse(read_xz(path)));
    const auto tokenizer = Tokenizer::create(vocab.source());
    ASSERT_TRUE(tokenizer) << tokenizer.error().what;
    ASSERT_EQ(tokenizer->size(), 151669u);
    expect_ids(*tokenizer, "qwen3_cases");
    EXPECT_EQ(numbers(tokenizer->end_tokens()),
              (std::vector{151643, 151645, 151662, 151663, 151664}));
    EXPECT_EQ(tokenizer->find("<think>"), TokenId{151667});
    EXPECT_EQ(tokenizer->find(" the"), TokenId{279});

    const std::string megabyte(1'000'000, 'a');
    const auto ids = tokenizer->encode(megabyte);
    EXPECT_LT(ids.size(), megabyte.size() / 4);
    EXPECT_EQ(tokenizer->decode(ids), megabyte);
}

}  // namespace
}  // namespace minfer
