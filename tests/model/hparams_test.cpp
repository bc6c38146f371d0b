#include "model/hparams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/writer.h"
#include "random_model/random_model.h"

namespace minfer {
namespace {

// The error of a tiny model whose key has this text.
std::string refusal(std::string_view key, std::string_view text) {
    gguf::Writer writer;
    const auto added = add_random_model(writer, random_model_shapes()[0], DType::F32);
    MINFER_ASSERT(added);
    writer.set(key, text);
    const auto bytes = writer.bytes();
    MINFER_ASSERT(bytes);
    const auto file = gguf::File::parse(*bytes);
    MINFER_ASSERT(file);
    const auto hparams = read_hparams(*file);
    return hparams ? "" : hparams.error().what;
}

TEST(HParams, QuotesNamesOutOfTheFileWithoutTheirControlBytes) {
    EXPECT_EQ(refusal("general.architecture", "\x1b[2J\xff"),
              "general.architecture is '\\x1b[2J\\xff', supported are qwen2 and qwen3");
    const std::string prefix(random_model_shapes()[0].architecture);
    EXPECT_EQ(refusal(prefix + ".rope.scaling.type", "ya\x07rn\xc2"),
              prefix + ".rope.scaling.type is 'ya\\x07rn\\xc2', supported are none and linear");
}

}  // namespace
}  // namespace minfer
