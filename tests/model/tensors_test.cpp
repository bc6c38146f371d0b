#include "model/tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gguf/writer.h"
#include "random_model/random_model.h"

namespace minfer {
namespace {

TEST(Tensors, NamesUnknownTensorsWithoutTheirControlBytes) {
    gguf::Writer writer;
    ASSERT_TRUE(add_random_model(writer, random_model_shapes()[0], DType::F32));
    const float one = 1;
    for (const auto* const name : {"extra\x1b[2J", "more"})
        ASSERT_TRUE(writer.add_tensor(name, DType::F32, {1}, std::as_bytes(std::span(&one, 1))));
    const auto bytes = writer.bytes();
    ASSERT_TRUE(bytes) << bytes.error().what;
    const auto file = gguf::File::parse(*bytes);
    ASSERT_TRUE(file) << file.error().what;
    const auto hparams = read_hparams(*file);
    ASSERT_TRUE(hparams) << hparams.error().what;
    const auto checked = check_tensors(*file, tensor_specs(*hparams));
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().what,
              "tensors this architecture does not have: 'extra\\x1b[2J', 'more'");
}

}  // namespace
}  // namespace minfer
