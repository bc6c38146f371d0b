#include <nlohmann/json.hpp>

#include "apps/program.h"

namespace minfer {
namespace {

using nlohmann::json;

class Tokenize : public WithModel {
  protected:
    void SetUp() override { write_small_model(model, {.with_tensors = false}); }
};

TEST_F(Tokenize, WorksOnAVocabularyWithoutWeights) {
    EXPECT_EQ(minfer_says({"tokenize", model, "Hi the", "--ids"}).out,
              "[72, 105, 256, 104, 101]\n");
    EXPECT_EQ(minfer_says({"tokenize", model, "H\n"}).out, "     72 -> 'H'\n     10 -> '\\n'\n");
}

TEST_F(Tokenize, TakesStdinAsItIs) {
    EXPECT_EQ(minfer_says({"tokenize", model, "--ids", "--stdin"}, {.input = "a\n"}).out,
              "[97, 10]\n");
    EXPECT_EQ(minfer_says({"tokenize", model, "--ids"}, {.input = ""}).out, "[]\n");
}

TEST_F(Tokenize, ReadsControlTokensUnlessToldNotTo) {
    EXPECT_EQ(minfer_says({"tokenize", model, "--ids", "<|endoftext|>"}).out, "[257]\n");
    const auto plain =
        json::parse(minfer_says({"tokenize", model, "--ids", "--no-special", "<|endoftext|>"}).out);
    EXPECT_EQ(plain.size(), 13u);
}

TEST_F(Tokenize, GivesBytesWhereAPieceIsNoText) {
    const auto list = json::parse(minfer_says({"tokenize", model, "--json", "aé"}).out);
    EXPECT_EQ(list, json::parse(R"([{"id": 97, "piece": "a"}, {"id": 195, "piece": [195]},
                                    {"id": 169, "piece": [169]}])"));
}

TEST_F(Tokenize, RefusesInvalidUtf8WithTheOffset) {
    const auto outcome = minfer_says({"tokenize", model}, {.input = "ab\xc3("});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(error_line(outcome), "error: text: byte 2 (0xc3) is not valid UTF-8");
}

}  // namespace
}  // namespace minfer
