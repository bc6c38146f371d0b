// minfer_embed: the bytes of a file as a symbol of the program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

extern "C" {
extern const unsigned char minfer_embedded_golden[];
extern const size_t minfer_embedded_golden_size;
}

namespace {

TEST(Embed, HoldsTheFileByteForByteAndAZeroAfterIt) {
    std::ifstream file(MINFER_GOLDEN_DIR "/quantize.gguf", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(bytes.empty());
    ASSERT_EQ(minfer_embedded_golden_size, bytes.size());
    const auto* text = reinterpret_cast<const char*>(minfer_embedded_golden);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), text));
    EXPECT_EQ(minfer_embedded_golden[bytes.size()], 0);
}

TEST(Embed, StartsAtSixteenBytes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(minfer_embedded_golden) % 16, 0u);
}

}  // namespace
